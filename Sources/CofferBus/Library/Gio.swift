package import CofferCGio

/// GLib and GIO, loaded when they are first needed and never unloaded.
package enum Gio {
  // C fills the table once, and nothing changes it or frees it afterwards.
  private nonisolated(unsafe) static let loaded = load("libgio-2.0.so.0", of: "libglib2.0-0", coffer_gio_load)

  /// The library's functions.
  /// - Throws: ``BusFailure`` of kind `noLibrary`, the same at each call: what is installed later is not noticed.
  package static func functions() throws(BusFailure) -> UnsafePointer<coffer_gio> { try loaded.get() }

  /// Loads a library.
  /// - Parameters:
  ///   - library: the name by which the system's loader finds it.
  ///   - package: what Debian calls the package that has it.
  ///   - open: fills a table with the library's functions; `nil`, and why, where it cannot.
  package static func load<Table>(
    _ library: String, of package: String,
    _ open: (UnsafePointer<CChar>?, UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> UnsafePointer<Table>?
  ) -> Result<UnsafePointer<Table>, BusFailure> {
    var problem: UnsafePointer<CChar>?
    if let table = open(library, &problem) { return .success(table) }
    let reason = problem.map { String(cString: $0) } ?? "there is no memory for it"
    return .failure(
      BusFailure(.noLibrary, "the library \(library) (Debian: \(package)) cannot be loaded: \(reason)"))
  }
}
