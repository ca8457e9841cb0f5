import CofferLocks

/// A property of a ``Persistable`` client, whose edits a ``ClientSession`` saves.
///
/// The copies of a client share the value. It can be read and assigned on any thread, also in methods that do not
/// mutate the client. Reading a value and assigning a result of it are two steps, which other threads may interrupt.
///
/// A value that is assigned before the client is restored replaces the stored one. A change of a part of the value,
/// such as `client.settings.isBold = true`, is applied to the stored value once that is loaded: changed fields of
/// structs and keys of dictionaries, and elements appended to arrays. Any other change in place before that, such as
/// `count += 1`, is given up in favour of a stored value, and ``PersistedClient/lastError`` states it.
@propertyWrapper
public struct ClientState<Value: Sendable>: Sendable {
  private let cell: ClientCell<Value>

  /// Creates a property with the value that it has until the client is restored.
  public init(wrappedValue: Value) { cell = ClientCell(wrappedValue) }

  /// The current value.
  public var wrappedValue: Value {
    get { cell.read() }
    nonmutating set { cell.set(newValue) }
    nonmutating _modify {
      var value = cell.value
      let before = value
      // Also if the caller's change throws, as an assignment would.
      defer { cell.change(from: before, to: value) }
      yield &value
    }
  }
}

extension ClientState: ClientStateBox {
  var anyCell: any AnyClientCell { cell }
}

/// A property of a client whatever its type.
protocol ClientStateBox {
  var anyCell: any AnyClientCell { get }
}

/// The value of a property of a client, and its edits that are not saved yet.
protocol AnyClientCell: AnyObject, Sendable {
  /// Whether all of them are stored.
  var isSaved: Bool { get }
  /// The number of reads that have returned a value with an edit that was not stored.
  var editedReads: UInt64 { get }
  /// Calls `onEdit` after each further edit. Returns whether there were edits before.
  func attach(_ onEdit: @escaping @Sendable () -> Void) -> Bool
  /// Returns what records that the edits so far, with the present value, are stored.
  func checkpoint() -> @Sendable () -> Void
  /// Records that the stored value was restored, or that there is none.
  func loaded()
}

/// One call of `restoreState()` by a session: assignments to the properties of its client are no edits.
///
/// A task that the call starts inherits it. It is therefore closed when the call returns: what that task assigns later
/// is an edit.
final class ClientRestoration: Sendable {
  @TaskLocal static var current: ClientRestoration?

  let persistence: ClientPersistence
  private let cells: Set<ObjectIdentifier>
  private let hasReturned = Locked(false)
  private let hasGivenUp = Locked(false)
  /// The errors of the keys whose last load has failed, whether or not the client has handled them.
  private let failed = Locked<[StoreKey: any Error]>([:])

  init(_ persistence: ClientPersistence, _ cells: [any AnyClientCell]) {
    self.persistence = persistence
    self.cells = Set(cells.map { ObjectIdentifier($0) })
  }

  var isOpen: Bool { !hasReturned.withLock { $0 } }
  func close() { hasReturned.withLock { $0 = true } }
  /// Notes the end of a load; a client may try another type, or once more.
  func loaded(_ key: StoreKey, _ error: (any Error)?) { failed.withLock { $0[key] = error } }
  var failure: (any Error)? { failed.withLock { failed in failed.min { $0.key < $1.key }?.value } }
  /// Whether a change in place could not be applied to a stored value.
  var gaveUpChange: Bool { hasGivenUp.withLock { $0 } }
  func giveUpChange() { hasGivenUp.withLock { $0 = true } }
  func restores(_ cell: any AnyClientCell) -> Bool { cells.contains(ObjectIdentifier(cell)) && isOpen }
}

final class ClientCell<Value: Sendable>: AnyClientCell {
  fileprivate struct State {
    var value: Value
    /// The value without the edits that are not saved yet.
    var unedited: Value
    var edits: UInt64 = 0
    var saved: UInt64 = 0
    /// The value before the first change in place, if it is not restored yet and was not assigned as a whole.
    var original: Value?
    var isLoaded = false
    var onEdit: (@Sendable () -> Void)?
    var editedReads: UInt64 = 0
  }

  private let state: Locked<State>

  init(_ value: Value) { state = Locked(State(value: value, unedited: value)) }

  var value: Value { state.withLock { $0.value } }
  var isSaved: Bool { state.withLock { $0.edits == $0.saved } }
  var editedReads: UInt64 { state.withLock { $0.editedReads } }

  /// Returns the value; to a round that finds out what was not edited, the value without the pending edits.
  func read() -> Value {
    let (value, unedited) = state.withLock { ($0.value, $0.edits == $0.saved ? nil : $0.unedited) }
    let readsUnedited = ClientRound.current?.readsUnedited(self, isEdited: unedited != nil) ?? false
    guard let unedited else { return value }
    if readsUnedited { return unedited }
    state.withLock { $0.editedReads += 1 }
    return value
  }

  /// Assigns a value. A restored value does not replace an edit that is not saved yet.
  func set(_ value: Value) {
    if let restoration = ClientRestoration.current, restoration.restores(self) {
      if !state.withLock({ $0.restore(value) }) { restoration.giveUpChange() }
      return
    }
    let onEdit = state.withLock { state in
      state.original = nil
      return state.edit(value)
    }
    onEdit?()
  }

  /// Changes a part of the value. Before the value is restored, the change is later applied to the stored value.
  func change(from before: Value, to value: Value) {
    if ClientRestoration.current?.restores(self) == true { return set(value) }
    let onEdit = state.withLock { state in
      if !state.isLoaded, state.edits == state.saved { state.original = before }
      return state.edit(value)
    }
    onEdit?()
  }

  func loaded() {
    state.withLock { state in
      state.isLoaded = true
      state.original = nil
    }
  }

  func attach(_ onEdit: @escaping @Sendable () -> Void) -> Bool {
    state.withLock {
      $0.onEdit = onEdit
      return $0.edits > $0.saved
    }
  }

  func checkpoint() -> @Sendable () -> Void {
    let (value, edits) = state.withLock { ($0.value, $0.edits) }
    return { [self] in
      state.withLock { state in
        guard edits >= state.saved else { return }
        (state.saved, state.unedited) = (edits, value)
      }
    }
  }
}

extension ClientCell.State {
  fileprivate mutating func edit(_ value: Value) -> (@Sendable () -> Void)? {
    self.value = value
    edits += 1
    return onEdit
  }

  /// Assigns a stored value, with the changes in place that were made before.
  /// - Returns: `false` if such a change was given up.
  fileprivate mutating func restore(_ stored: Value) -> Bool {
    unedited = stored
    guard edits > saved else {
      value = stored
      return true
    }
    // An edit that is not saved yet replaces what is stored.
    guard let original else { return true }
    self.original = nil
    if let merged = MergedValue.merging(stored, from: original, to: value) {
      value = merged
      return true
    }
    (value, saved) = (stored, edits)
    return false
  }
}

/// Returns the properties of a client that are declared with `@ClientState`, also those of its superclasses.
func clientCells(of client: Any) -> [any AnyClientCell] {
  var cells: [any AnyClientCell] = []
  var mirror: Mirror? = Mirror(reflecting: client)
  while let present = mirror {
    cells += present.children.compactMap { ($0.value as? any ClientStateBox)?.anyCell }
    mirror = present.superclassMirror
  }
  return cells
}
