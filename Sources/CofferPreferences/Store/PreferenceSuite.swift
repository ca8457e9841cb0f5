import CofferCore
import CofferFileSystem
import Foundation

/// The name of a file of preferences and where it is.
struct PreferenceSuite: Sendable {
  let name: String
  /// The directory of all suites of this user.
  let directory: String

  var path: String { directory + "/" + name + ".plist" }
  /// Where the journal is and values wait.
  var control: String { directory + "/" + Self.controlName + "/" + name }
  var description: String { "prefs:\(path)" }

  private static let controlName = ".coffer-preferences"

  /// - Parameter name: `nil` for the application's own, as `UserDefaults.standard` calls it.
  init(_ name: String?, in system: SystemDirectories) throws(StorageError) {
    let name = name ?? system.bundleIdentifier ?? system.processName
    guard Self.isPlain(name) else {
      throw StorageError(
        .unsupported, "'\(name.prefix(140).description.escapingControlCharacters)' cannot be the name of a suite.",
        advice: "Use up to 128 letters, digits, '.', '_' and '-', the first not a dot: com.example.shop. "
          + "Nothing was read or written.", backend: "prefs")
    }
    self.name = name
    do {
      directory = try system.url(for: .preferences).path
    } catch {
      throw error.locating(backend: "prefs:\(name)")
    }
  }

  /// Whether the name is one harmless part of a path, and not one that `UserDefaults` has for something else.
  private static func isPlain(_ name: String) -> Bool {
    let reserved = ["NSGlobalDomain", "NSArgumentDomain", "NSRegistrationDomain"]
    return !reserved.contains(name) && PathParts.isPlain(name)
  }

  /// Whether there is anything of this name.
  /// - Throws: What keeps it from being looked at.
  func exists() throws(StorageError) -> Bool {
    do {
      if try PathParts.exists(path) { return true }
      return try PathParts.exists(control)
    } catch {
      throw error.locating(backend: description)
    }
  }

  /// Makes the directories, for this user alone.
  func prepare(mayCreate: Bool) throws {
    do {
      if !mayCreate, try !exists() {
        throw StorageError(.notFound, "There are no preferences of this name.", advice: "Check the name.")
      }
      try OpenDirectory.make(control)
    } catch let error as StorageError {
      throw error.locating(backend: description)
    }
  }
}
