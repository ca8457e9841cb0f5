/// Asks for the confirmations that the values of a store require before they are read.
///
/// A value requires the access control that is stored with it, and the one that its key declares: neither a declaration
/// without it nor a value that was stored before it was declared is read unasked.
package struct ReadGuard: Sendable {
  private let context: AuthenticationContext?
  private let declared: (@Sendable (KeyName) -> KeychainAccessControl?)?
  private let isInFrontOfAnother: Bool

  /// - Parameters:
  ///   - context: asks the user; without one, values with an access control are refused.
  ///   - declared: returns the access control that a key declares.
  ///   - isInFrontOfAnother: whether the engine itself asks for the access control that is stored with a value.
  package init(
    _ context: AuthenticationContext?, declared: (@Sendable (KeyName) -> KeychainAccessControl?)? = nil,
    isInFrontOfAnother: Bool = false
  ) {
    self.context = context
    self.declared = declared
    self.isInFrontOfAnother = isInFrontOfAnother
  }

  /// Asks for what reading a value requires.
  /// - Parameters:
  ///   - key: the key of the value.
  ///   - attributes: what is recorded about the value, without the value.
  ///   - granted: what the reader was granted before for the same read; receives what is granted.
  ///   - location: the location of the store.
  /// - Throws: The errors of ``AuthenticationContext/authenticate(for:reason:)`` with the key and the store;
  ///   `newerFormat` for an unknown access control.
  package func permit(
    _ key: KeyName, _ attributes: ValueAttributes, granted: inout Set<KeychainAccessControl>, in location: String
  ) async throws {
    for control in try controls(of: key, attributes, location) where !granted.contains(control) {
      try await ask(control, key, location)
      granted.insert(control)
    }
  }

  /// Returns what reading a value requires, in a fixed order.
  private func controls(
    of key: KeyName, _ attributes: ValueAttributes, _ location: String
  ) throws -> [KeychainAccessControl] {
    var controls: [KeychainAccessControl] = []
    if !attributes.isEmpty, let number = attributes[.accessControl] {
      guard let stored = KeychainAccessControl(rawValue: number) else {
        throw StorageError(
          .newerFormat, "The value requires an access control that this version does not know.",
          advice: "Update the program. The value was not read.", location: location, key: key)
      }
      controls = [stored]
    }
    let stored = controls.first
    if isInFrontOfAnother { controls = [] }
    if let declared = declared?(key), declared != stored { controls.append(declared) }
    return controls
  }

  private func ask(_ control: KeychainAccessControl, _ key: KeyName, _ location: String) async throws {
    do {
      guard let context else { throw StorageError.noAuthenticator(for: control) }
      try await context.authenticate(
        for: control,
        reason: "Read the secret '\(key.string.escapingControlCharacters)' in \(location.escapingControlCharacters).")
    } catch var error as StorageError {
      error.isAboutQuestion = true
      throw error.locating(at: location, key: key)
    }
  }

  /// Reads entries, after asking for what they require. For absent values nothing is asked.
  /// - Parameters:
  ///   - recorded: returns what is recorded about a value, without reading it; `nil` if there is no record.
  ///   - read: reads the entries, in the order of the keys.
  package func entries(
    _ keys: [KeyName], in location: String, recorded: (KeyName) async throws -> ValueAttributes?,
    read: () async throws -> [StoreEntry?]
  ) async throws -> [StoreEntry?] {
    var granted: Set<KeychainAccessControl> = []
    for key in keys {
      if let attributes = try await recorded(key) {
        try await permit(key, attributes, granted: &granted, in: location)
      }
    }
    let entries = try await read()
    // A value may have been replaced by one that requires more, or added by another program without a record.
    for case let entry? in entries { try await permit(entry.key, entry.attributes, granted: &granted, in: location) }
    return entries
  }
}
