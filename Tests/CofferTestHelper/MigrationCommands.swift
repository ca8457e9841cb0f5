import CofferRouter
import Foundation

/// Migrates three plain keys below a directory to encrypted ones, and prints each: "router-migrate ROOT [wait]"; or two
/// to one: "router-migrate ROOT aggregate".
func runKeyMigration(_ command: String, _ root: String, _ rest: [String]) async throws -> Bool {
  guard command == "router-migrate" else { return false }
  var configuration = StorageConfiguration()
  (configuration.stores.database, configuration.stores.slots) = (.patient, .patient)
  configuration.encryption.key = .provider(MigratedKeyMaterial(), named: "test")
  configuration.appVersion = "2.0"
  let router = StorageRouter(configuration: configuration)
  if rest.first == "wait" {
    say("ready")
    _ = readLine()
  }
  if rest.first == "aggregate" {
    let key = AggregatedKeys(root: root).newer
    do { say("\(key.name) \(try await router.get(key).count)") } catch let error as StorageError {
      say("\(key.name) failed \(error.code)")
    }
  } else {
    for key in MigratedKeys(root: root).keys {
      do { say("\(key.name) \(try await router.get(key))") } catch let error as StorageError {
        say("\(key.name) failed \(error.code)")
      }
    }
  }
  try? await router.close()
  say("closed")
  return true
}

struct MigratedKeyMaterial: KeyMaterialProviding {
  func keyMaterial(for source: KeyMaterialSource) async throws -> Data { Data(1..<33) }
}

/// A key in a database, in a directory of files and in preferences, each of which is moved to an encrypted key.
struct MigratedKeys {
  let root: String

  var keys: [TypedKey<String>] {
    let database = StorageDomain.database(URL(fileURLWithPath: root + "/store.db"))
    let files = StorageDomain.fileSystem(.custom(URL(fileURLWithPath: root + "/files")))
    let homes: [(String, StorageDomain, StorageDomain)] = [
      ("same", database, database), ("database", files, database),
      ("files", .userDefaults(suite: "com.example.migrated"), files),
    ]
    return homes.map { name, before, after in
      let old = TypedKey<String>("old \(name)", in: before, owner: "Tests", about: "For a test.")
      return TypedKey<String>(name, in: after, owner: "Tests", about: "For a test.", security: .encrypted(.aes256))
        .migrating { AnyStorageMigration(from: old, to: $0) }
    }
  }
}

/// A key in a database and one in preferences, of which one encrypted value in files is made.
struct AggregatedKeys {
  let older: [TypedKey<String>]
  let newer: TypedKey<[String]>

  init(root: String) {
    let database = StorageDomain.database(URL(fileURLWithPath: root + "/store.db"))
    let homes: [(String, StorageDomain)] = [
      ("first", database), ("last", .userDefaults(suite: "com.example.migrated")),
    ]
    let older = homes.map { TypedKey<String>($0.0, in: $0.1, owner: "Tests", about: "For a test.") }
    self.older = older
    newer = TypedKey<[String]>(
      "both", in: .fileSystem(.custom(URL(fileURLWithPath: root + "/files"))), owner: "Tests", about: "For a test.",
      security: .encrypted(.aes256)
    ).migrating { key in
      AnyStorageMigration(from: older.map { .key($0) }, to: key) { values in
        older.compactMap { values[$0] }
      }
    }
  }
}
