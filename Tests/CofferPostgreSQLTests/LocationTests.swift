import Coffer
import CofferCore
import CofferEncryption
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import CofferPostgreSQL

@Suite("PostgreSQL: locations")
struct LocationTests {
  private func target(
    _ text: String, _ configuration: PostgreSQLEngine.Configuration = PostgreSQLEngine.Configuration()
  ) throws -> ConnectionTarget {
    try ConnectionTarget(text, configuration, services: ServiceFile { _ in nil })
  }

  @Test func hosts() throws {
    let target = try target("postgresql://ann@db1.example:6000,[::1],10.0.0.7/shop?store=orders")
    #expect(
      target.hosts == [ServerHost("db1.example", port: 6000), ServerHost("::1"), ServerHost("10.0.0.7")])
    #expect(target.store == "orders")
    #expect(target.description == "postgresql://ann@db1.example:6000,[::1],10.0.0.7/shop?store=orders")
    #expect(target.description.hasPrefix(target.database.split(separator: "?")[0]))
  }

  @Test(
    "A location is the same after it was written and read again",
    arguments: [
      "postgresql://a%40b@h/d%2Fx?store=a%26b%3Dc", "postgresql://u@%2Fvar%2Frun%2Fx:99/d?store=s",
      "postgresql://u@h/d?store=%C3%A9&application_name=a%20b",
    ])
  func roundTrip(_ text: String) throws {
    let first = try target(text)
    let second = try target(first.description)
    #expect(first.description == second.description)
    #expect(first.hosts == second.hosts)
    #expect(first.store == second.store)
  }

  @Test("Databases are the same for all their stores, and only for those")
  func sharing() throws {
    let one = try target("postgresql://u@h/d?store=a")
    #expect(try target("postgres://u@h:5432/d?store=b").database == one.database)
    #expect(try target("postgresql://v@h/d?store=a").database != one.database)
    var apart = PostgreSQLEngine.Configuration()
    apart.instance = 1
    #expect(try target("postgresql://u@h/d?store=a", apart).database != one.database)
  }

  @Test("postgres:// is another name of the same location")
  func alias() throws {
    PostgreSQLEngine.registerLocations()
    let location = try StoreLocation("postgres://u@h/d?store=s")
    #expect(location == (try StoreLocation("postgresql://u@h/d?store=s")))
    #expect(location.description == "postgresql://u@h/d?store=s")
  }

  @Test("Over TCP, a password is proven by SCRAM unless the certificate or the location says otherwise")
  func authentication() throws {
    func methods(_ text: String, at address: String?) throws -> Set<AuthenticationMethod>? {
      let target = try target(text)
      let parameters = target.parameters(for: target.hosts[0], at: address, password: nil)
      #expect(parameters.value("require_auth") == nil)
      return parameters.authentication
    }
    #expect(try methods("postgresql://h/d?store=s", at: "127.0.0.1") == [.scram])
    #expect(try methods("postgresql://h/d?store=s", at: "10.0.0.1") == nil)
    #expect(try methods("postgresql://%2Ftmp/d?store=s", at: nil) == nil)
    #expect(try methods("postgresql://h/d?store=s&require_auth=md5,none", at: "10.0.0.1") == [.md5, .none])
    #expect(
      try target("postgresql://h/d?require_auth=md5&store=s").description
        == "postgresql://h/d?require_auth=md5&store=s")
  }

  @Test(
    "A password in the text is refused, and not repeated",
    arguments: [
      "postgresql://ann:hunter2@h/d?store=s", "postgresql://ann@h/d?store=s&password=hunter2",
      "postgresql://ann@h/d?sslpassword=hunter2&store=s", "postgresql://ann:hunter2@h:x/d?store=s&%zz",
      "postgresql://ann:hunter2@h/d?hunter2=hunter2&store=s",
    ])
  func passwordInText(_ text: String) async {
    let error = await expectStorageError(StorageError.Code("invalidLocation")) { _ = try target(text) }
    #expect(error?.description.contains("hunter2") == false)
  }

  @Test(
    "Weaker protection, other modes and mistakes are refused",
    arguments: [
      "postgresql://h/d?store=s&sslmode=require", "postgresql://h/d?store=s&sslmode=none", "postgresql://h/d",
      "postgresql://h/d?store=", "postgresql://h/d?store=a&store=b", "postgresql://h/d?store=%zz",
      "mysql://h/d?store=s",
      "postgresql://h/d?store=s&replication=database", "postgresql://h:0/d?store=s", "postgresql://h:70000/d?store=s",
      "postgresql://h/d?store=s&target_session_attrs=standby", "postgresql://h,i/d?store=s&hostaddr=1.2.3.4",
      "postgresql://h/d?store=s&require_auth=", "postgresql://h/d?store=s&require_auth=!md5",
      "postgresql://h/d?store=s&hostaddr=example.org", "postgresql://h/d?store=s&service=gone", "",
      "postgresql://h/d?store=" + String(repeating: "x", count: 201),
    ])
  func refused(_ text: String) async {
    await expectStorageError(StorageError.Code("invalidLocation")) { _ = try target(text) }
  }

  @Test("Other hosts are verified, and this machine is not unless asked for")
  func protection() throws {
    func mode(_ text: String, at address: String?, _ tls: PostgreSQLEngine.Configuration.TLS? = nil) throws -> String? {
      var configuration = PostgreSQLEngine.Configuration()
      configuration.tls = tls
      let target = try target(text, configuration)
      return target.parameters(for: target.hosts[0], at: address, password: nil).value("sslmode")
    }
    #expect(try mode("postgresql://h/d?store=s", at: "10.0.0.1") == "verify-full")
    #expect(try mode("postgresql://h/d?store=s", at: "127.0.0.3") == "prefer")
    #expect(try mode("postgresql://[::1]/d?store=s", at: "::1") == "prefer")
    #expect(try mode("postgresql://%2Ftmp/d?store=s", at: nil) == "prefer")
    #expect(try mode("postgresql://h/d?store=s&sslmode=verify-full", at: "127.0.0.1") == "verify-full")
    #expect(try mode("postgresql://h/d?store=s&sslmode=verify-ca", at: "10.0.0.1", .require) == "verify-ca")
    #expect(try mode("postgresql://h/d?store=s", at: "10.0.0.1", .disable) == "disable")
  }

  @Test("What would block or weaken is decided here, whatever the environment says")
  func fixedParameters() throws {
    let target = try target("postgresql://u@h/d?store=s")
    let parameters = target.parameters(for: target.hosts[0], at: "10.0.0.1", password: nil)
    #expect(parameters.value("gssencmode") == "disable")
    #expect(parameters.value("target_session_attrs") == "any")
    #expect(parameters.value("hostaddr") == "10.0.0.1")
    #expect(parameters.value("host") == "h")
    #expect(parameters.value("sslrootcert") == ConnectionTarget.systemCertificates)
    #expect(parameters.value("service") == nil)
  }

  @Test("An impossible time to connect is an hour", arguments: ["9000000000000000000", "3601"])
  func connectTimeout(seconds: String) throws {
    let target = try ConnectionTarget(
      "postgresql://h/d?store=s&connect_timeout=\(seconds)", PostgreSQLEngine.Configuration())
    #expect(target.connectTimeout == .seconds(3_600))
  }

  @Test("A service fills in what the location does not say; its password is not shown")
  func service() throws {
    let directory = try TemporaryDirectory()
    let file = directory.path("services")
    try """
    # comment
    [other]
    host=wrong
    [shop]
    host=db1,db2
    port=6000,6001
    user=ann
    password=hunter2
    [more]
    dbname=wrong
    """.write(toFile: file, atomically: false, encoding: .utf8)
    let services = ServiceFile { $0 == "PGSERVICEFILE" ? file : nil }
    let target = try ConnectionTarget(
      "postgresql:///shop?store=s&service=shop", PostgreSQLEngine.Configuration(), services: services)
    #expect(target.hosts == [ServerHost("db1", port: 6000), ServerHost("db2", port: 6001)])
    let parameters = target.parameters(for: target.hosts[1], at: "10.0.0.2", password: nil)
    #expect(parameters.value("user") == "ann")
    #expect(parameters.value("dbname") == "shop")
    #expect(parameters.value("port") == "6001")
    #expect(parameters.value("password") == nil)
    #expect(parameters.password != nil)
    #expect(!"\(parameters)".contains("hunter2"))
    #expect(target.description == "postgresql:///shop?service=shop&store=s")
  }
}
