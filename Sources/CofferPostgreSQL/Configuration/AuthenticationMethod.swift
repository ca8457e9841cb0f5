import CofferCore

/// A method by which a server authenticates a role, as libpq 16 names it in `require_auth`.
enum AuthenticationMethod: String, CaseIterable, Sendable {
  /// Both sides prove that they know the password, and neither learns it.
  case scram = "scram-sha-256"
  /// The password is sent as an MD5 sum, with which others can log in.
  case md5
  /// The password is sent as it is.
  case password
  /// The server asks for nothing.
  case none

  static let keyword = "require_auth"

  /// Parses a list with commas; `nil` for none.
  /// - Throws: `StorageError` with code `invalidLocation`.
  static func list(_ text: String?) throws -> Set<AuthenticationMethod>? {
    guard let text else { return nil }
    let methods = text.split(separator: ",", omittingEmptySubsequences: false).map {
      AuthenticationMethod(rawValue: String($0))
    }
    guard !methods.contains(nil) else {
      throw StorageError.invalidLocation(
        "The location allows a way to log in that is not known (\(keyword)).",
        "Use one or more of \(allCases.map(\.rawValue).joined(separator: ", ")), with commas.")
    }
    return Set(methods.compactMap { $0 })
  }
}
