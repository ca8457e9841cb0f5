import Foundation

/// `KeychainStorageAdapter` as the code of document 1 has it, on libsecret instead of `SecItemAdd`: a generic password
/// with a service and an account.
actor KeychainStorageAdapter: StorageAdapter {
  private let service: String

  init(service: String = "com.axiom.storage") { self.service = service }

  func read(key: String) async throws -> Data? { nil }

  func write(key: String, data: Data) async throws {
    try Keyring.store(data, label: key, ["service": service, "account": key])
  }
}

/// What is needed of libsecret, which is loaded at run time.
enum Keyring {
  struct Failure: Error {}

  private typealias NewTable = @convention(c) (OpaquePointer?, OpaquePointer?) -> OpaquePointer?
  private typealias Insert =
    @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
  // The schema, the attributes, the collection, the label, the password, a cancellable and an error.
  private typealias Store =
    @convention(c) (
      OpaquePointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
      OpaquePointer?, OpaquePointer?
    ) -> Int32

  private static func symbol<T>(_ name: String, _ library: String, as type: T.Type) throws -> T {
    guard let handle = dlopen(library, RTLD_NOW), let symbol = dlsym(handle, name) else { throw Failure() }
    return unsafeBitCast(symbol, to: type)
  }

  /// Stores a password in the default collection.
  static func store(_ data: Data, label: String, _ attributes: [String: String]) throws {
    let glib = "libglib-2.0.so.0"
    let newTable = try symbol("g_hash_table_new", glib, as: NewTable.self)
    let insert = try symbol("g_hash_table_insert", glib, as: Insert.self)
    let store = try symbol("secret_password_storev_sync", "libsecret-1.so.0", as: Store.self)
    let hash = try symbol("g_str_hash", glib, as: OpaquePointer.self)
    let equal = try symbol("g_str_equal", glib, as: OpaquePointer.self)
    let table = newTable(hash, equal)
    for (name, text) in attributes { _ = insert(table, strdup(name), strdup(text)) }
    let text = String(decoding: data, as: UTF8.self)
    guard store(nil, table, "default", label, text, nil, nil) != 0 else { throw Failure() }
  }
}
