import CofferTesting
import Foundation
import ReplayShop
import Testing

@Suite("add, list, remove", .serialized)
struct StoreTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Without a store, one sentence gives advice")
  func firstRun() async throws {
    for arguments in ["", "list", "activity"] {
      let ended = try await sandbox.bash("watchify \(arguments)")
      #expect(ended.status == 0 && ended.lines.count == 1 && ended.text.hasPrefix("You follow no store yet."))
      #expect(ended.text.contains("watchify add ADDRESS") && ended.text.contains("watchify demo"))
    }
    let stores = try await sandbox.watchify("--json").json()["stores"] as? [Any]
    #expect(stores?.isEmpty == true)
  }

  @Test("A store is followed without alerts, in a directory private to this user")
  func add() async throws {
    let ended = try await sandbox.watchify("add", sandbox.address)
    #expect(ended.status == 0)
    #expect(ended.lines.first == "Tarn & Lotus: Shopify, prices in USD (country US)")
    // No watch is running, so no next sync is shown.
    #expect(ended.lines.last == "Imported 48 products, 209 variants. No alerts for what is already there.")
    #expect(ended.errors.contains("Automatic syncing is off") && ended.errors.contains("watchify watch"))
    var status = stat()
    #expect(stat(sandbox.path("data/watchify"), &status) == 0 && status.st_mode & 0o777 == 0o700)
    let list = try await sandbox.watchify("list")
    #expect(list.text.contains("Tarn & Lotus") && list.text.contains("USD (US)") && list.text.contains("0 unread"))
    #expect(try await sandbox.watchify("list", "-0").text == "Tarn & Lotus\0")
    let again = try await sandbox.watchify("add", sandbox.address)
    #expect(again.status == 1 && again.errors.contains("is already followed, as Tarn & Lotus"))
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

  @Test("An address that is not a shop is not stored, and the message gives the reason")
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
    let ambiguous = try await sandbox.watchify("products", "tarn")
    #expect(ambiguous.status == 2 && ambiguous.errors.replacing("\n", with: " ").contains("may be Tarn & Lotus ("))
    let unknown = try await sandbox.watchify("remove", "nobody", "--json")
    #expect(try unknown.status == 3 && unknown.errorJSON()["code"] as? String == "storeNotFound")
    #expect(try await sandbox.watchify("remove", id, "--yes", "--json").json()["removed"] as? String == id)
  }

  @Test("Removing requires a whole name, prints what will be deleted, and asks")
  func remove() async throws {
    try await sandbox.followWithNews()
    let part = try await sandbox.watchify("remove", "Tarn", "--yes")
    let words = part.errors.replacing("\n", with: " ")
    #expect(part.status == 2 && words.contains("is the beginning of Tarn & Lotus") && words.contains("a whole name"))
    let silent = try await sandbox.watchify("remove", "Tarn & Lotus")
    let losses = "48 products with 213 price points since today, and 7 reported changes"
    #expect(silent.status == 2 && silent.errors.replacing("\n", with: " ").contains(losses), "\(silent.errors)")
    #expect(silent.errors.contains("--yes"))
    for (answer, status) in [("n", 1), ("", 1), ("y", 0)] {
      let asked = try sandbox.terminal("echo '\(answer)' | script -qefc \"watchify remove 'tarn & lotus'\" /dev/null")
      let ended = try await asked.ended()
      #expect(ended.status == status && ended.text.contains("Delete all of it? [y/N]"), "\(ended.text)")
      let text = ended.text.replacing("\r\n", with: " ").replacing("\n", with: " ")
      #expect(text.contains(losses) && text.contains(status == 0 ? "is no longer followed" : "Nothing was removed"))
    }
    #expect(try await sandbox.watchify("list").text.hasPrefix("You follow no store yet."))
  }

  @Test("A store's name, market and headers can be changed; expired headers are not sent, and the doctor warns")
  func edit() async throws {
    try await sandbox.watchify("add", sandbox.address, "--header", "X-One: first-secret")
    let renamed = try await sandbox.watchify("edit", "Tarn", "--name", "Mats", "--country", "gb")
    #expect(renamed.status == 0 && renamed.lines[0] == "Tarn & Lotus is now called Mats.", "\(renamed.errors)")
    #expect(renamed.text.contains("the prices of GB, with one notice.") && renamed.lines.count == 2)
    try await sandbox.forgetAttempts()
    #expect(try await sandbox.watchify("sync").status == 0)
    let request = try #require(sandbox.shop.requests.last { $0.target.hasPrefix("/products.json") })
    #expect(request.target.contains("country=GB") && request.header("X-One") == "first-secret")
    let signed = try await sandbox.watchify(
      "edit", "Mats", "--header", "X-Two: second-secret", "--until", "3d", "--json")
    let header = try #require((signed.json()["headers"] as? [NSDictionary])?.first)
    #expect(header["name"] as? String == "X-Two" && header["expiresAt"] is String)
    let soon = try await sandbox.watchify("doctor")
    #expect(soon.text.contains("Its header X-Two expires (") && soon.text.contains("watchify edit"), "\(soon.text)")
    try await sandbox.sql("UPDATE stores SET headers = replace(headers, '\"expiresAt\":', '\"expiresAt\":-')")
    try await sandbox.forgetAttempts()
    try await sandbox.watchify("sync")
    #expect(sandbox.shop.requests.last?.header("X-Two") == nil && sandbox.shop.requests.last?.header("X-One") == nil)
    let over = try await sandbox.watchify("doctor")
    #expect(over.text.contains("Its header X-Two has expired and is no longer sent"), "\(over.text)")
    let forgotten = try await sandbox.watchify("edit", "Mats", "--forget-headers")
    #expect(forgotten.lines.count == 1 && forgotten.text.hasSuffix(" is requested without additional headers.\n"))
    #expect(!(renamed.text + signed.text + soon.text + over.text).contains("-secret"))
    for wrong in ["", "--until 3d", "--header 'X: y' --until 2001-01-01", "--header 'X: y' --forget-headers"] {
      #expect(try await sandbox.bash("watchify edit Mats \(wrong)").status == 2, "\(wrong)")
    }
  }

  @Test("Failures are distinguished, and a failed add leaves no data")
  func addFailures() async throws {
    func refusal(_ mode: ReplayFault) async throws -> (status: Int32, text: String) {
      sandbox.shop.set(mode: mode)
      let ended = try await sandbox.watchify("add", sandbox.address)
      return (ended.status, ended.errors.replacing("\n", with: " "))
    }
    let moved = try await refusal(.redirect(301, to: "https://www.elsewhere.example/products.json"))
    #expect(moved.status == 1 && moved.text.contains("The address has moved to elsewhere.example."), "\(moved.text)")
    #expect(moved.text.contains("watchify add elsewhere.example"))
    let reset = try await refusal(.reset)
    #expect(reset.status == 75 && reset.text.contains("The connection was closed"), "\(reset.text)")
    #expect(!reset.text.contains("offline"))
    let password = try await refusal(.password)
    #expect(password.text.contains("Try again when the store is open."))
    for text in [moved.text, reset.text, password.text, try await refusal(.status(403)).text] {
      #expect(text.contains("was not added") && !text.contains("data is kept") && !text.contains("resumes"), "\(text)")
    }
    #expect(try await sandbox.watchify("add").errors.contains("needs an ADDRESS"))
  }

  @Test("A shop at a numeric address without a name is named by the whole address")
  func numericName() async throws {
    sandbox.shop.configure { $0.name = "" }
    try await sandbox.follow()
    let store = try #require((try await sandbox.watchify("--json").json()["stores"] as? [NSDictionary])?.first)
    #expect(store["name"] as? String == store["domain"] as? String)
  }

  @Test("--data selects another database; a file that is no database is reported")
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
