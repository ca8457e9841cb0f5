import CofferCore
import Foundation

/// A connection service file, as libpq reads it: `pg_service.conf` in PostgreSQL's manual.
///
/// libpq would read it only when it connects, to the hosts in it, but hosts are tried one by one here.
struct ServiceFile {
  let environment: @Sendable (String) -> String?

  init(environment: @escaping @Sendable (String) -> String? = { name in getenv(name).map { String(cString: $0) } }) {
    self.environment = environment
  }

  /// The files in which a service is looked for: that of the user, then that of the system.
  private var paths: [String] {
    let home = environment("HOME") ?? NSHomeDirectory()
    let system = environment("PGSYSCONFDIR") ?? "/etc/postgresql-common"
    return [environment("PGSERVICEFILE") ?? home + "/.pg_service.conf", system + "/pg_service.conf"]
  }

  /// Returns the options of a service.
  /// - Throws: `StorageError` with code `invalidLocation` if no file describes it.
  func options(of service: String) throws -> LocationOptions {
    for path in paths {
      guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { continue }
      if let found = Self.section(service, of: text) { return found }
    }
    throw StorageError.invalidLocation(
      "The service '\(service.escapingControlCharacters)' is in no service file.",
      "Add a section [\(service.escapingControlCharacters)] to ~/.pg_service.conf, or set PGSERVICEFILE.")
  }

  static func section(_ service: String, of text: String) -> LocationOptions? {
    var options: LocationOptions?
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("[") {
        if options != nil { break }
        if line == "[\(service)]" { options = LocationOptions() }
      } else if !line.hasPrefix("#"), let mark = line.firstIndex(of: "="), options != nil {
        let keyword = String(line[..<mark])
        if options?[keyword] == nil { options?[keyword] = String(line[line.index(after: mark)...]) }
      }
    }
    return options
  }
}

/// The file in which libpq looks for passwords.
struct PasswordFile {
  let path: String
  /// The permissions, if others than its owner may read it: libpq then ignores it.
  let exposedMode: mode_t?

  /// The file of a location, else that of the environment, else `~/.pgpass`; `nil` if it does not exist.
  init?(_ given: String?) {
    let home = getenv("HOME").map { String(cString: $0) } ?? NSHomeDirectory()
    path = given ?? getenv("PGPASSFILE").map { String(cString: $0) } ?? home + "/.pgpass"
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    exposedMode = status.st_mode & 0o077 == 0 ? nil : status.st_mode & 0o7777
  }
}
