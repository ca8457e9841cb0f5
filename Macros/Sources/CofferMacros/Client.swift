@_exported public import CofferPersistence

/// Writes what is missing for a client to be `Persistable`.
///
/// ```swift
/// @Client
/// struct Layout {
///   @ClientState var columns = 2
///   @ClientState var sidebar: Sidebar = .open
/// }
/// ```
///
/// What the type declares itself stays as it is. The macro adds:
///
/// - the conformance to `Persistable`, or to `Client` for a type without stored state;
/// - `persistence`, and `init(persistence:)` for a class or an actor without an initializer;
/// - `persistState()` and `restoreState()`, if both are absent: each stored property under its name. Renaming a
///   property changes its key then; to keep the key, write both methods;
/// - with these methods `persistedKeys`, the names of the `@ClientState` properties. If the type declares it as
///   literals, only the properties that it names are stored; a key that no property has is an error.
///
/// The macro sees only what is written in the type itself, not its extensions and superclasses.
@attached(
  member, names: named(persistence), named(init), named(persistedKeys), named(persistState), named(restoreState))
@attached(extension, conformances: Client, Persistable)
public macro Client() = #externalMacro(module: "CofferMacrosPlugin", type: "ClientMacro")
