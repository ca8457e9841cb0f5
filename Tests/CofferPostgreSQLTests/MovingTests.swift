import CofferPostgreSQL
import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// A router moves from a database file to a server by its location and a copy.
@Suite("PostgreSQL: moving", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct MovingTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private struct Catalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
  }

  /// Adds a visit and an order, and returns what the store has then.
  private func use(_ location: String, order: Int) async throws -> (visits: Int, orders: [Int]) {
    PostgreSQLEngine.registerLocations()
    let home = StorageDomain.store(try StoreLocation(location))
    let visits = SettingKey<Int>("visits", in: home, owner: "Tests", about: "Visits.", default: 0)
    let orders = KeyFamily<Int, String>("orders", in: home, owner: "Tests", about: "Orders.")
    let router = StorageRouter(configuration: StorageConfiguration())
    try await router.registerCatalog(Catalog(allKeys: [.key(visits), .family(orders)]))
    try await router.update(visits) { $0 += 1 }
    try await router.set("order \(order)", for: orders[order])
    let result = (try await router.get(visits), try await router.ids(of: orders).sorted())
    try await router.close()
    return result
  }

  private func coffer(_ arguments: [String]) async throws -> EndedProgram {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("coffer")
    process.arguments = arguments
    return try await RunningProgram(process, in: directory.url).ended()
  }

  @Test("A router moves by one line and 'coffer cp', and goes on where it was")
  func moves() async throws {
    let server = try await SharedServer.running()
    let location = server.location(try await server.newDatabase(), store: "shop")
    let file = "sqlite:" + directory.path("shop.db")
    #expect(try await use(file, order: 1) == (1, [1]))
    let copied = try await coffer(["cp", file, location])
    #expect(copied.status == 0, "\(copied.errors)")
    #expect(try await use(location, order: 2) == (2, [1, 2]))
    let listed = try await coffer(["postgresql", "stores", "--store", location])
    #expect(listed.text.contains("shop  "), "\(listed.errors)")
    // And back.
    let back = try await coffer(["cp", location, "sqlite:" + directory.path("back.db")])
    #expect(back.status == 0, "\(back.errors)")
    #expect(try await use("sqlite:" + directory.path("back.db"), order: 3) == (3, [1, 2, 3]))
  }

  @Test("What only reads does not wait for standbys that are away")
  func withoutStandbys() async throws {
    let server = try await PostgreSQLServer()
    let location = server.location(try await server.newDatabase())
    #expect(try await coffer(["set", "k", "v", "--store", location]).status == 0)
    try await server.psql("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
    try await server.psql("SELECT pg_reload_conf()")
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.answerTimeout = .seconds(1)
    let refused = await #expect(throws: StorageError.self) {
      try await PostgreSQLEngine.open(location, configuration: configuration)
    }
    #expect(refused?.code == .unavailable)
    configuration.access = .readOnly
    let engine = try await PostgreSQLEngine.open(location, configuration: configuration)
    #expect(try await engine.entry("k")?.value == Data("v".utf8))
    try await engine.close()
    let found = try await coffer(["get", "k", "--store", location])
    #expect(found.status == 0 && found.text == "v", "\(found.errors)")
    let copied = try await coffer(["cp", location, "sqlite:" + directory.path("copy.db")])
    #expect(copied.status == 0, "\(copied.errors)")
  }

  @Test("A command waits until a standby is promoted")
  func failover() async throws {
    let primary = try await PostgreSQLServer()
    let standby = try await PostgreSQLServer(standbyOf: primary, named: "s1", through: primary.port)
    let hosts = "127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)"
    let location = "postgres://postgres@\(hosts)/\(try await primary.newDatabase())?store=test"
    #expect(try await coffer(["set", "k", "v", "--store", location]).status == 0)
    try await standby.psql("ALTER SYSTEM SET log_connections = on")
    try await standby.psql("SELECT pg_reload_conf()")
    primary.stop()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("coffer")
    process.arguments = ["set", "k", "w", "--store", location]
    let log = standby.log.count
    let waiting = try RunningProgram(process, in: directory.url)
    // It has asked the standby at least once.
    try await eventually("the standby is asked") { standby.log.dropFirst(log).contains("application_name=coffer") }
    try await standby.psql("SELECT pg_promote(true, 30)")
    let ended = try await waiting.ended()
    #expect(ended.status == 0, "\(ended.errors)")
    #expect(try await coffer(["get", "k", "--store", location]).text == "w")
  }

  @Test("The command tells what is missing, and keeps passwords out")
  func command() async throws {
    let server = try await SharedServer.running()
    let database = try await server.newDatabase()
    let missing = try await coffer(["get", "k", "--store", server.location(database)])
    #expect(missing.status == 3 && missing.errors.contains("'coffer set KEY VALUE' creates it"), "\(missing.errors)")
    let password = try await coffer(["get", "k", "--store", "postgresql://u:hunter2@127.0.0.1/\(database)?store=s"])
    #expect(password.status == 2 && !password.errors.contains("hunter2"), "\(password.errors)")
    let created = try await coffer(["postgresql", "init", "--json", "--store", server.location(database)])
    #expect(try created.json()["created"] as? Bool == true)
    #expect(try await coffer(["set", "k", "v", "--store", server.location(database)]).status == 0)
    let doctor = try await coffer(["doctor", "--json", server.location(database)])
    #expect(doctor.status == 0 && doctor.text.contains("waits for no standby"), "\(doctor.text)\(doctor.errors)")
    let refused = try await coffer(["postgresql", "drop", "--store", server.location(database)])
    #expect(refused.status == 2)
    let dropped = try await coffer(["postgresql", "drop", "--yes", "--store", server.location(database)])
    #expect(dropped.status == 0)
    #expect(try await coffer(["get", "k", "--store", server.location(database)]).status == 3)
  }
}
