import CofferCore

extension PostgreSQLEngine {
  /// Lets locations such as `postgresql://app@db.example.com/app?store=shop` be used as text in this process: by
  /// routers, doors, and `StoreLocation`. Call it once, at the start of the program.
  ///
  /// - Parameter configuration: the settings with which such stores are opened; what a caller of `StoreLocation.open`
  ///   requests, such as the access, is added to them.
  public static func registerLocations(
    _ configuration: PostgreSQLEngine.Configuration = PostgreSQLEngine.Configuration()
  ) {
    EngineScheme.register(
      EngineScheme(
        "postgresql", aliases: ["postgres"], form: "postgresql://HOST,HOST/DATABASE?store=NAME",
        meaning: "a store in a PostgreSQL server",
        check: { address in _ = try ConnectionTarget("postgresql:" + address, store: nil, configuration) },
        // Whether it exists is known only to the server; opening it says so.
        exists: { _ in true },
        open: { address, options in
          var configuration = configuration
          let registered = configuration.common
          configuration.common = options
          configuration.events = options.events ?? registered.events
          configuration.onDamage = options.onDamage ?? registered.onDamage
          return try await open("postgresql:" + address, configuration: configuration)
        }))
  }
}
