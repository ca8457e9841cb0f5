import CofferRouter
import Foundation

// An application's days: values that expire, a log-out, a damaged value, and a tool that only looks.

let folder = FileManager.default.temporaryDirectory.appendingPathComponent("everyday-\(UUID().uuidString)")
defer { try? FileManager.default.removeItem(at: folder) }
let database = folder.appendingPathComponent("app.db")

enum Theme: String, Codable, Sendable { case system, dark }

enum Keys {
  static let secrets = SecretDomain.sealed(
    at: folder.appendingPathComponent("app.sealed"), passphrase: .provided { Data("correct horse battery".utf8) })

  static let theme = SettingKey<Theme>(
    "theme", in: .database(database), owner: "Settings", about: "The colours.", default: .system,
    damage: .replace(with: .system))
  static let name = TypedKey<String>("name", in: .database(database), owner: "Account", about: "The name of the user.")
  static let orders = KeyFamily<Int, String>(
    "orders", in: .database(database), owner: "Account", about: "What was ordered, by number.")
  static let token = TypedKey<String>(
    secret: "token", in: secrets, owner: "Account", about: "The session.", lifetime: .seconds(3_600))
}

struct Catalog: StorageKeyCatalog {
  let allKeys: [AnyStorageKey] = [.key(Keys.theme), .key(Keys.name), .family(Keys.orders), .key(Keys.token)]
}

func open(_ access: StoreAccess = .readWrite, at clock: StoreClock = .system) async throws -> StorageRouter {
  var configuration = StorageConfiguration()
  configuration.access = access
  configuration.stores.database.clock = clock
  configuration.stores.slots.clock = clock
  configuration.onDamageHandled = { print("Damaged: \($0.damage.key?.string ?? "-"); \($0.outcome)") }
  let router = StorageRouter(configuration: configuration)
  try await router.registerCatalog(Catalog())
  return router
}

// 1. Expiry: the token has the lifetime of its key, one order a date of its own.
var router = try await open()
try await router.set("Ann", for: Keys.name)
try await router.set("s3cret", for: Keys.token)
try await router.set("tea", for: Keys.orders[1])
try await router.set("a cake of the day", for: Keys.orders[2], expires: .now + 600)
try await router.set(.dark, for: Keys.theme)
try await router.close()

let later = try await open(at: StoreClock { .now + 7_200 })
print("Two hours later: token \(try await later.exists(Keys.token)), orders \(try await later.ids(of: Keys.orders))")
try await later.close()

// 2. A flipped bit on the disk: the declared policy replaces the value, and its bytes are kept.
var bytes = try Data(contentsOf: database)
while let range = bytes.range(of: Data(#""dark""#.utf8)) { bytes[range.lowerBound + 1] ^= 1 }
try bytes.write(to: database)
router = try await open()
print("Theme: \(try await router.get(Keys.theme))")

// 3. A look that changes nothing, while the application is running.
let viewer = try await open(.readOnly)
for entry in await viewer.auditReport().entries { print("\(entry.key.name) is in \(entry.store)") }
do { try await viewer.set("Bob", for: Keys.name) } catch let error as StorageError { print(error.message) }
try await viewer.close()

// 4. Log-out: what an owner has stored, secrets included since they are named. First only to see what it would remove.
let plan = try await router.clear(owner: "Account", .valuesAndSecrets, dryRun: true)
print("A log-out removes \(plan.removed.map(\.string).sorted())")
let report = try await router.clear(owner: "Account", .valuesAndSecrets)
precondition(report.isComplete, "\(report.failures)")
print("Afterwards: name \(try await router.exists(Keys.name)), theme \(try await router.get(Keys.theme))")
try await router.close()
