public import Coffer

extension StorageRouter {
  /// A router of a test's own: every home is in memory, nothing is shared with another router, and a key that no
  /// catalog has is an error and not the end of the program.
  ///
  /// ```swift
  /// let router = StorageRouter.inMemory()
  /// let settings = Settings(storage: router)
  /// try await settings.choose(.dark)
  /// #expect(try await router.get(.theme) == .dark)
  /// ```
  /// - Parameter configure: changes the settings.
  public static func inMemory(_ configure: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
    var configuration = StorageConfiguration()
    configuration.isInMemory = true
    configuration.unregisteredKeys = .throwError
    configure(&configuration)
    return StorageRouter(configuration: configuration)
  }
}
