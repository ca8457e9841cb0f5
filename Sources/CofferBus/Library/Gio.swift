package import CofferCGio

/// GLib and GIO, loaded when they are first needed and never unloaded.
package enum Gio {
  // C fills the table once, and nothing changes it or frees it afterwards.
  private nonisolated(unsafe) static let loaded = load("libgio-2.0.so.0", of: "libglib2.0-0", coffer_gio_load)

  /// Returns the library's functions.
  /// - Throws: ``BusFailure`` of kind `noLibrary`. The first result is cached: a library that is installed later is
  ///   not found.
  package static func functions() throws(BusFailure) -> UnsafePointer<coffer_gio> { try loaded.get() }

  /// Loads a library.
  /// - Parameters:
  ///   - library: the file name of the library, for the system's loader.
  ///   - package: the name of the Debian package that contains it.
  ///   - open: returns a table of the library's functions, or `nil` and the reason.
  package static func load<Table>(
    _ library: String, of package: String,
    _ open: (UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> UnsafePointer<Table>?
  ) -> Result<UnsafePointer<Table>, BusFailure> {
    var problem: UnsafePointer<CChar>?
    if let table = open(library, &problem) { return .success(table) }
    let reason = problem.map { String(cString: $0) } ?? "out of memory"
    return .failure(
      BusFailure(.noLibrary, "the library \(library) (Debian: \(package)) cannot be loaded: \(reason)"))
  }
}
