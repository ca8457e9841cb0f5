import CofferPostgreSQL
import CofferRouter
import Foundation

// A router whose store is a database file, and later a PostgreSQL server that many machines share. Only the text of the
// location changes; what is in the file is moved by
//
//   coffer cp sqlite:shop.db 'postgresql://shop@db.example.com/shop?store=shop'

PostgreSQLEngine.registerLocations()

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("one-server-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }
let file = "sqlite:" + folder.appendingPathComponent("shop.db").path

// The one line.
let home = StorageDomain.store(try StoreLocation(ProcessInfo.processInfo.environment["SHOP_STORE"] ?? file))

let visits = SettingKey<Int>(
  "visits", in: home, owner: "Statistics", about: "How often the shop was opened.", default: 0)
let orders = KeyFamily<Int, String>("orders", in: home, owner: "Shop", about: "What was ordered, by number.")

struct Catalog: StorageKeyCatalog {
  let allKeys: [AnyStorageKey]
}

let router = StorageRouter(configuration: StorageConfiguration())
try await router.registerCatalog(Catalog(allKeys: [.key(visits), .family(orders)]))
try await router.update(visits) { $0 += 1 }
try await router.set("two jackets, size M", for: orders[17])
print("Opened \(try await router.get(visits)) times; order 17: \(try await router.get(orders[17])).")
