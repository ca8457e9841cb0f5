import CofferTestSupport
import Foundation
import ReplayShop
import Testing

@Suite("add, list, remove", .serialized)
struct StoreTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Without a store, one sentence says what to do")
  func firstRun() async throws {
    for arguments in ["", "list", "activity"] {
      let ended = try await sandbox.bash("watchify \(arguments)")
      #expect(ended.status == 0 && ended.lines.count == 1 && ended.text.hasPrefix("You follow no store yet."))
      #expect(ended.text.contains("watchify add ADDRESS") && ended.text.contains("watchify demo"))
    }
    let stores = try await sandbox.watchify("--json").json()["stores"] as? [Any]
    #expect(stores?.isEmpty == true)
  }

  @Test("A store is followed without alerts, in a folder for this user alone")
  func add() async throws {
    let ended = try await sandbox.watchify("add", sandbox.address)
    #expect(ended.status == 0)
    #expect(ended.lines.first == "Tarn & Lotus: Shopify, prices in USD (country US)")
    let last = /Imported 48 products, 209 variants. No alerts for what is already there; next check \d\d:\d\d./
    #expect(ended.lines.count == 2 && ended.lines[1].wholeMatch(of: last) != nil, "\(ended.text)")
    #expect(ended.errors.contains("watchify watch"))
    var status = stat()
    #expect(stat(sandbox.path("data/watchify"), &status) == 0 && status.st_mode & 0o777 == 0o700)
    let list = try await sandbox.watchify("list")
    #expect(list.text.contains("Tarn & Lotus") && list.text.contains("USD (US)") && list.text.contains("0 unread"))
    #expect(try await sandbox.watchify("list", "-0").text == "Tarn & Lotus\0")
    let again = try await sandbox.watchify("add", sandbox.address)
    #expect(again.status == 1 && again.errors.contains("is followed already, as Tarn & Lotus"))
  }

  @Test("The value of a header goes to the store and nowhere else")
  func headers() async throws {
    let ended = try await sandbox.watchify(
      "add", sandbox.address, "--name", "Mats", "--header", "X-One: first-secret", "--header", "X-Two: second-secret",
      "--json")
    let json = try ended.json()
    #expect(json["name"] as? String == "Mats" && json["products"] as? Int == 48 && json["variants"] as? Int == 209)
    let request = try #require(sandbox.shop.requests.last { $0.target.hasPrefix("/products.json") })
    #expect(request.header("X-One") == "first-secret" && request.header("X-Two") == "second-secret")
    var printed = ended.text + ended.errors
    for arguments in ["list --json", "doctor", "audit --json", "settings --json", "export Mats --json"] {
      let other = try await sandbox.bash("watchify \(arguments)")
      printed += other.text + other.errors
    }
    let wrong = try await sandbox.watchify("add", "a.com", "--header", "third-secret")
    #expect(wrong.status == 2 && wrong.errors.contains("--header takes"))
    #expect(!(printed + wrong.errors).contains("-secret"))
  }

  @Test("What is no shop is not kept, and the sentence says why")
  func refused() async throws {
    let wrong = try await sandbox.watchify("add", "ftp://x.com")
    #expect(wrong.status == 2 && wrong.errors.contains("Not a valid Shopify store"))
    sandbox.shop.set(mode: .html)
    let html = try await sandbox.watchify("add", sandbox.address, "--json")
    #expect(try html.status == 1 && html.errorJSON()["code"] as? String == "notShopify")
    sandbox.shop.set(mode: .status(430))
    let refused = try await sandbox.watchify("add", sandbox.address)
    #expect(refused.status == 1 && refused.errors.contains("was not added"))
    #expect(try await sandbox.watchify("list").text.hasPrefix("You follow no store yet."))
    let country = try await sandbox.watchify("add", sandbox.address, "--country", "usa")
    #expect(country.status == 2 && country.errors.contains("two letters"))
  }

  @Test("A store is named by its name, its address or the beginning of its id")
  func names() async throws {
    try await sandbox.follow()
    let stores = try await sandbox.watchify("list", "--json").json()["stores"] as? [NSDictionary]
    let id = try #require(stores?.first?["id"] as? String)
    for name in ["tarn & lotus", sandbox.address, String(id.prefix(6)), "Tarn"] {
      #expect(try await sandbox.watchify("products", name, "--limit", "1").status == 0, "\(name)")
    }
    let other = try Sandbox()
    other.shop.configure { $0.permanentDomain = "other.myshopify.example" }
    #expect(try await sandbox.watchify("add", other.address, "--name", "Tarn Two").status == 0)
    let ambiguous = try await sandbox.watchify("remove", "tarn")
    #expect(ambiguous.status == 2 && ambiguous.errors.replacing("\n", with: " ").contains("may be Tarn & Lotus ("))
    let unknown = try await sandbox.watchify("remove", "nobody", "--json")
    #expect(try unknown.status == 3 && unknown.errorJSON()["code"] as? String == "storeNotFound")
    #expect(try await sandbox.watchify("remove", "Tarn Two").text.contains("no longer followed; 48 products"))
    let removed = try await sandbox.watchify("remove", sandbox.address, "--json").json()
    #expect(removed["removed"] as? String == id)
  }

  @Test("--data is another database; what is no database is said so")
  func data() async throws {
    #expect(try await sandbox.watchify("add", sandbox.address, "--data", sandbox.path("x/y.db")).status == 0)
    #expect(try await sandbox.watchify("list").text.hasPrefix("You follow no store yet."))
    #expect(try await sandbox.watchify("list", "--data", sandbox.path("x/y.db")).text.contains("Tarn"))
    try Data("not a database, but long enough to be one".utf8).write(to: sandbox.url.appendingPathComponent("no.db"))
    let ended = try await sandbox.watchify("list", "--data", sandbox.path("no.db"), "--json")
    #expect(try ended.status == 1 && ended.errorJSON()["code"] as? String == "notAStore")
    let doctor = try await sandbox.watchify("doctor", "--data", sandbox.path("no.db"))
    #expect(doctor.status == 1 && doctor.text.contains("PROBLEM  database"))
  }
}
