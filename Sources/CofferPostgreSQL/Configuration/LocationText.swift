import CofferCPostgreSQL
import CofferCore
import Foundation

/// The options of libpq that a location gives, by keyword.
struct LocationOptions {
  private(set) var pairs: [(keyword: String, value: String)] = []

  subscript(_ keyword: String) -> String? {
    get { pairs.first { $0.keyword == keyword }?.value }
    set {
      pairs.removeAll { $0.keyword == keyword }
      if let newValue { pairs.append((keyword, newValue)) }
    }
  }

  /// Adds the options of another source for which there is no value yet.
  mutating func fill(from other: LocationOptions) {
    for (keyword, value) in other.pairs where self[keyword] == nil { self[keyword] = value }
  }

  /// Reads and frees an array of libpq.
  fileprivate init(taking first: UnsafeMutablePointer<PQconninfoOption>) {
    defer { pq_conninfoFree(first) }
    var option = first
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val, value.pointee != 0 {
        pairs.append((String(cString: keyword), String(cString: value)))
      }
      option += 1
    }
  }

  init() {}
}

/// The text of a location: `postgresql://USER@HOST:PORT,HOST/DATABASE?store=NAME`.
enum LocationText {
  static let form = "postgresql://USER@HOST:PORT/DATABASE?store=NAME"

  /// Takes the parameter `store` out of a location, and has libpq parse the rest.
  /// - Throws: `StorageError` with code `invalidLocation`.
  static func parse(_ text: String) throws -> (options: LocationOptions, store: String?) {
    guard ["postgresql://", "postgres://"].contains(where: text.hasPrefix) else {
      throw StorageError.invalidLocation("A location of PostgreSQL begins with postgresql://.", "Write \(form).")
    }
    guard !text.utf8.contains(0), text.utf8.count <= 64 << 10 else {
      throw StorageError.invalidLocation("The location is too long, or contains a NUL.", "Write \(form).")
    }
    guard coffer_pq_is_loaded() != 0 else {
      throw StorageError(
        .unsupported, "PostgreSQL's client library, libpq.so.5, is not installed, or is older than version 14.",
        advice: "Install it: the package is libpq5 on Debian, postgresql-libs or libpq elsewhere.", location: "")
    }
    let (rest, taken) = try splitting(text)
    guard let first = pq_conninfoParse(rest, nil) else {
      // The message of libpq repeats the text, which may contain a password.
      throw StorageError.invalidLocation(
        "The location is not one that libpq understands.", "Write \(form); encode special characters with %.")
    }
    var options = LocationOptions(taking: first)
    options[AuthenticationMethod.keyword] = taken[Keyword(AuthenticationMethod.keyword)]
    return (options, taken[Keyword("store")])
  }

  /// The parameters that libpq 15 does not know.
  private static let own = ["store", AuthenticationMethod.keyword]

  private static func splitting(_ text: String) throws -> (rest: String, taken: [Keyword: String]) {
    guard let mark = text.firstIndex(of: "?") else { return (text, [:]) }
    var (kept, taken) = ([Substring](), [Keyword: String]())
    for item in text[text.index(after: mark)...].split(separator: "&") {
      guard let keyword = own.first(where: { item.hasPrefix($0 + "=") }) else {
        kept.append(item)
        continue
      }
      guard let value = String(item.dropFirst(keyword.count + 1)).removingPercentEncoding,
        taken[Keyword(keyword)] == nil
      else {
        throw StorageError.invalidLocation(
          "The location has the parameter '\(keyword)' twice, or in an invalid encoding.", "Write it once: \(form).")
      }
      taken[Keyword(keyword)] = value
    }
    return (text[..<mark] + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&")), taken)
  }

  /// The defaults of libpq from the environment (`PGHOST`, `PGUSER` and so on).
  static func defaults() -> LocationOptions {
    pq_conndefaults().map { LocationOptions(taking: $0) } ?? LocationOptions()
  }

  /// The keywords whose values libpq itself hides.
  static let secretKeywords: Set<Keyword> = {
    guard let first = pq_conninfoParse("", nil) else { return [Keyword("password"), Keyword("sslpassword")] }
    defer { pq_conninfoFree(first) }
    var (found, option) = (Set<Keyword>(), first)
    while let keyword = option.pointee.keyword {
      if let mark = option.pointee.dispchar, mark.pointee == UInt8(ascii: "*") {
        found.insert(Keyword(String(cString: keyword)))
      }
      option += 1
    }
    return found
  }()

  /// The name of an option of libpq.
  struct Keyword: Hashable {
    let text: String

    init(_ text: String) { self.text = text }
  }

  static func encoded(_ text: String) -> String {
    let plain = CharacterSet(charactersIn: "-._~").union(
      CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
    return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
  }
}

extension StorageError.Code {
  /// The text is not a valid location of a store.
  static let invalidLocation = StorageError.Code("invalidLocation")
}

extension StorageError {
  static func invalidLocation(_ message: String, _ advice: String) -> StorageError {
    StorageError(.invalidLocation, message, advice: advice)
  }
}
