import CofferLocks

/// A property of a ``Persistable`` client, whose edits a ``ClientSession`` saves.
///
/// The copies of a client share the value. It can be read and assigned on any thread, also in methods that do not
/// mutate the client. Reading a value and assigning a result of it are two steps, which other threads may interrupt.
@propertyWrapper
public struct ClientState<Value: Sendable>: Sendable {
  private let cell: ClientCell<Value>

  /// Creates a property with the value that it has until the client is restored.
  public init(wrappedValue: Value) { cell = ClientCell(wrappedValue) }

  /// The current value.
  public var wrappedValue: Value {
    get { cell.value }
    nonmutating set { cell.set(newValue) }
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
  /// The number of edits so far.
  var edits: UInt64 { get }
  /// Whether all of them are stored.
  var isSaved: Bool { get }
  /// Calls `onEdit` after each further edit. Returns whether there were edits before.
  func attach(_ onEdit: @escaping @Sendable () -> Void) -> Bool
  /// Records that the first `edits` edits are stored.
  func saved(_ edits: UInt64)
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
  func restores(_ cell: any AnyClientCell) -> Bool { cells.contains(ObjectIdentifier(cell)) && isOpen }
}

final class ClientCell<Value: Sendable>: AnyClientCell {
  private struct State {
    var value: Value
    var edits: UInt64 = 0
    var saved: UInt64 = 0
    var onEdit: (@Sendable () -> Void)?
  }

  private let state: Locked<State>

  init(_ value: Value) { state = Locked(State(value: value)) }

  var value: Value { state.withLock { $0.value } }
  var edits: UInt64 { state.withLock { $0.edits } }
  var isSaved: Bool { state.withLock { $0.edits == $0.saved } }

  /// Assigns a value. A restored value does not replace an edit that is not saved yet.
  func set(_ value: Value) {
    let isRestored = ClientRestoration.current?.restores(self) ?? false
    let onEdit = state.withLock { state -> (@Sendable () -> Void)? in
      if isRestored {
        if state.edits == state.saved { state.value = value }
        return nil
      }
      state.value = value
      state.edits += 1
      return state.onEdit
    }
    onEdit?()
  }

  func attach(_ onEdit: @escaping @Sendable () -> Void) -> Bool {
    state.withLock {
      $0.onEdit = onEdit
      return $0.edits > $0.saved
    }
  }

  func saved(_ edits: UInt64) {
    state.withLock { $0.saved = max($0.saved, edits) }
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
