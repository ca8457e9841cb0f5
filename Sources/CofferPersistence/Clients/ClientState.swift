import CofferCore

/// A property of a ``Persistable`` client, whose edits a ``ClientSession`` saves.
///
/// The copies of a client share the value. It can be read and assigned on any thread, also in methods that do not
/// mutate the client. Reading a value and assigning a result of it are two steps, which other threads may interrupt.
///
/// A value that is assigned before ``ClientSession/start(prefix:_:)`` returns is a default, which the stored value
/// replaces.
@propertyWrapper
public struct ClientState<Value: Sendable>: Sendable {
  // A tuple here crashes the compiler (6.3) in builds for the thread sanitizer.
  private struct State {
    var value: Value
    var onEdit: (@Sendable () -> Void)?
  }

  private let state: Locked<State>

  /// Creates a property with the value that it has until the client is restored.
  public init(wrappedValue: Value) { state = Locked(State(value: wrappedValue)) }

  /// The current value.
  public var wrappedValue: Value {
    get { state.withLock { $0.value } }
    nonmutating set {
      let onEdit = state.withLock { state in
        state.value = newValue
        return state.onEdit
      }
      onEdit?()
    }
  }
}

/// A property of a client whatever its type.
private protocol EditedProperty {
  func observeEdits(_ onEdit: @escaping @Sendable () -> Void)
}

extension ClientState: EditedProperty {
  fileprivate func observeEdits(_ onEdit: @escaping @Sendable () -> Void) { state.withLock { $0.onEdit = onEdit } }
}

/// Calls `onEdit` after each further edit of a property with `@ClientState`, also of the superclasses of a client.
func observeEdits(of client: any Persistable, _ onEdit: @escaping @Sendable () -> Void) {
  var mirror: Mirror? = Mirror(reflecting: client)
  while let present = mirror {
    for child in present.children { (child.value as? any EditedProperty)?.observeEdits(onEdit) }
    mirror = present.superclassMirror
  }
}
