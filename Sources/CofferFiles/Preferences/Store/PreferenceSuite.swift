import CofferCore
import CofferFileSystem
import Foundation

/// The name and the paths of a suite of preferences.
struct PreferenceSuite: Sendable {
  let name: String
  /// The directory that contains all suites of this user.
  let directory: String

  var path: String { directory + "/" + name + ".plist" }
  /// The control directory, which holds the journal and the staged values.
  var control: String { directory + "/" + Self.controlName + "/" + name }
  var description: String { "prefs:\(path)" }

  private static let controlName = ".coffer-preferences"

  /// - Parameter name: `nil` for the application's own suite, as for `UserDefaults.standard`.
  init(_ name: String?, in system: SystemDirectories) throws(StorageError) {
    let name = name ?? system.bundleIdentifier ?? system.processName
    guard Self.isPlain(name) else {
      throw StorageError(
        .unsupported, "'\(name.prefix(140).description.escapingControlCharacters)' cannot be the name of a suite.",
        advice: "Use up to 128 letters, digits, '.', '_' and '-', the first not a dot: com.example.shop. "
          + "Nothing was read or written.", location: "prefs")
    }
    self.name = name
    do {
      directory = try system.url(for: .preferences).path
    } catch {
      throw error.locating(at: "prefs:\(name)")
    }
  }

  /// Whether the name is a safe path component and not reserved by `UserDefaults`.
  private static func isPlain(_ name: String) -> Bool {
    let reserved = ["NSGlobalDomain", "NSArgumentDomain", "NSRegistrationDomain"]
    return !reserved.contains(name) && PathParts.isPlain(name)
  }

  /// Whether the file or the control directory of the suite exists.
  /// - Throws: `StorageError` if that cannot be determined.
  func exists() throws(StorageError) -> Bool {
    do {
      if try PathParts.exists(path) { return true }
      return try PathParts.exists(control)
    } catch {
      throw error.locating(at: description)
    }
  }

  var isMissing: StorageError {
    StorageError(
      .notFound, "There are no preferences of this name.", advice: "Check the name.", location: description)
  }

  /// Creates the directories with access for this user only.
  func prepare(mayCreate: Bool) throws {
    do {
      if !mayCreate, try !exists() {
        throw isMissing
      }
      try OpenDirectory.make(control)
    } catch let error as StorageError {
      throw error.locating(at: description)
    }
  }
}
