import Coffer
import CofferEncryption
import CofferTerminal
import Foundation

/// Implements `coffer set`, which stores a value.
func setValue(_ invocation: Invocation) async throws -> ExitStatus {
  let key = try invocation.makeKeyOfFirstOperand()
  let value = try newValue(invocation)
  let type = try invocation.preferenceType()
  let attributes = try ValueAttributes(expires: invocation.expiry())
  let location = try StoreLocation.of(invocation)
  try refuseNonsense(invocation, value, type, location)
  let durability: StoreDurability = invocation.has(.relaxed) ? .relaxed : .full
  // A new value of a store of which only some values are encrypted is stored in plain, unless it is said otherwise.
  let need: KeyNeed = invocation.has(.encrypted) ? .everything : .values([key])
  let commit = try await withStore(invocation, creating: true, requiringRing: invocation.has(.encrypted), for: need) {
    engine in
    // The limit depends on the engine, so the value is read only now.
    let value = try value.read(limit: engine.capabilities.maximumValueSize)
    if engine.capabilities.contains(.propertyLists), engine.as(EncryptedEngine.self) == nil {
      try await refuseMarked(key, in: engine)
      return try await setPreference(value, of: key, as: type, attributes, in: engine)
    }
    guard type == nil else { throw hasNoType() }
    return try await put(value, key, attributes, durability, in: engine)
  }
  if invocation.has(.json) { try print(JSON.object(commit.members)) }
  return .ok
}

/// Stores a value. One that replaces a value with a version has the same version, so that it is never taken for
/// another one.
private func put(
  _ value: Data, _ key: KeyName, _ attributes: ValueAttributes, _ durability: StoreDurability,
  in engine: any StorageEngine
) async throws -> StoreCommit {
  var attempts = 0
  while true {
    let present: StoreEntry.Summary?
    do { present = try await engine.summary(of: key) } catch let error as StorageError
      where [.damaged, .unfinished].contains(error.code)
    {
      present = nil  // Writing mends it.
    }
    // Not every engine refuses it by itself.
    if present?.attributes.isSealed == true, engine.showsStoredForm {
      throw StorageError.ringIsLost(location: engine.description, key: key)
    }
    var operations: [WriteBatch.Operation] = [.put(key, value, attributes)]
    if let present, let mark = try SchemaMark(in: present.attributes) {
      operations = [.require(key, present.revision), .put(key, value, attributes.merging(mark.attributes))]
    }
    do { return try await engine.commit(WriteBatch(operations, durability: durability), from: StoreOrigin()) } catch let
      error as StorageError where error.code == .preconditionFailed && attempts < 100
    {
      attempts += 1
    }
  }
}

/// Refuses to replace a preference with a version, whose type and mark would be lost.
private func refuseMarked(_ key: KeyName, in engine: any StorageEngine) async throws {
  guard let summary = try await engine.summary(of: key), let mark = try SchemaMark(in: summary.attributes) else {
    return
  }
  throw StorageError(
    .unsupported, "The preference has version \(mark.version) of '\(mark.name)', which only its application writes.",
    advice: "Nothing was written. Change it in the application, or remove it first with 'coffer rm'.",
    location: engine.description, key: key)
}

/// Rejects contradictory arguments before the store is created.
private func refuseNonsense(
  _ invocation: Invocation, _ value: NewValue, _ type: PreferenceType?, _ location: StoreLocation
) throws {
  if type != nil {
    guard case .preferences = location.unencrypted else {
      throw Command.mistake("Only preferences have a type: --store prefs:SUITE.", .set)
    }
    guard !location.isEncrypted else { throw hasNoType() }
  }
  if case .argument = value, location.keepsSecrets, !location.isEncrypted {
    throw Command.mistake(
      "A secret must not be an argument, which other users and shell histories see: coffer set KEY -, or --file PATH.",
      .set)
  }
  guard case .input(let input) = value else { return }
  for (option, what) in [(Option.passphraseFile, "passphrase"), (.keyFile, "key")] {
    guard let path = invocation.options[option], input.isSamePipe(as: path) else { continue }
    throw Command.mistake("One pipe cannot supply both the value and the \(what).", .set)
  }
}

private func hasNoType() -> CommandError {
  Command.mistake(
    "An encrypted value is bytes and has no type, so that UserDefaults cannot read it: omit --type.", .set)
}

/// The source of the value to store.
private enum NewValue {
  case argument(Data)
  case input(Input)

  func read(limit: Int) throws -> Data {
    switch self {
    case .argument(let data): data
    case .input(let input): try input.read(limit: limit)
    }
  }
}

/// Returns the source of the value: an argument, a file, or standard input.
private func newValue(_ invocation: Invocation) throws -> NewValue {
  let operand = invocation.operands.dropFirst().first
  if let path = invocation.options[.file] {
    guard operand == nil else { throw Command.mistake("'set' takes VALUE or --file PATH, not both.", .set) }
    return .input(try Input.file(path))
  }
  guard let operand else {
    guard Input.isConnected else {
      throw Command.mistake(
        "The value is missing: coffer set KEY VALUE, or --file PATH, or - for standard input.", .set)
    }
    return .input(.standard)
  }
  return operand.isStandardInput ? .input(.standard) : .argument(Data(operand.bytes))
}

extension Invocation {
  fileprivate func makeKeyOfFirstOperand() throws -> KeyName {
    guard let key = try Invocation(command, operands: Array(operands.prefix(1))).keys().first else {
      throw Command.mistake("'\(command.rawValue)' needs a KEY.", command)
    }
    return key
  }
}

extension StoreCommit {
  /// The members that `--json` prints for a commit.
  var members: [(StaticString, JSON)] {
    [("revision", .number(revision.rawValue)), ("transaction", .optional(transaction?.uuidString))]
  }
}
