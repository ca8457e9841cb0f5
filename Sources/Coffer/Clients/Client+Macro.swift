#if Macros
  /// Checks a client at compile time, and writes what is missing for it to be ``Persistable``. Needs the trait `Macros`
  /// of the package.
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
  /// - the conformance to ``Persistable``, or to ``Client`` for a type without stored state;
  /// - `persistence`, and `init(persistence:)` for types that do not have it implicitly;
  /// - `persistedKeys`, the names of the `@ClientState` properties;
  /// - `persistState()` and `restoreState()`, if both are absent: each stored property under its name. Renaming a
  ///   property changes its key then; to keep the key, write both methods.
  ///
  /// Errors are, among others, a key that no property has and a key that `persistState()` writes without declaring it.
  /// The macro sees only what is written in the type itself, not its extensions and superclasses.
  @attached(
    member, names: named(persistence), named(init), named(persistedKeys), named(persistState), named(restoreState))
  @attached(extension, conformances: Client, Persistable)
  public macro Client() = #externalMacro(module: "CofferClientMacros", type: "ClientMacro")
#endif
