public import CofferRouter

extension StorageRouter {
  /// Creates a router for a test: every store is in memory, nothing is shared with other routers, and a key that is in
  /// no catalog throws an error instead of trapping. Engines that `configure` gives the router are used as they are.
  ///
  /// ```swift
  /// let router = StorageRouter.inMemory()
  /// let settings = Settings(storage: router)
  /// try await settings.choose(.dark)
  /// #expect(try await router.get(.theme) == .dark)
  /// ```
  ///
  /// A test injects faults by putting an engine in the place of a declared store:
  ///
  /// ```swift
  /// let engine = FaultInjectingEngine(MemoryEngine())
  /// let router = StorageRouter.inMemory { $0.replace(.userDefaults(), with: engine) }
  /// engine.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit)
  /// ```
  /// - Parameter configure: changes the configuration before the router is created.
  public static func inMemory(_ configure: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
    var configuration = StorageConfiguration()
    configuration.isInMemory = true
    configuration.unregisteredKeys = .throwError
    configure(&configuration)
    return StorageRouter(configuration: configuration)
  }
}
