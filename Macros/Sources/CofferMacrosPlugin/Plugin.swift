#if !canImport(SwiftSyntaxMacros) || !canImport(SwiftCompilerPluginMessageHandling)
  #error(
    """
    The macro '@Client' needs the swift-syntax modules of the toolchain, and this one has no \
    lib/swift/host/SwiftSyntax.swiftmodule. Use a toolchain of swift.org for Linux; on other systems, the variable \
    COFFER_SWIFT_HOST names the folder lib/swift/host. All of Coffer but this macro works without them.
    """)
#else
  @_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
  import SwiftSyntaxMacros

  /// The plug-in, which the compiler starts and asks by messages for expansions.
  ///
  /// The toolchain contains all modules of swift-syntax but `SwiftCompilerPlugin`, which would do just this.
  @main enum Plugin: PluginProvider {
    case coffer

    struct UnknownMacro: Error, CustomStringConvertible {
      let description: String
    }

    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
      guard typeName == "ClientMacro" else {
        throw UnknownMacro(description: "The plug-in CofferMacrosPlugin has no macro '\(typeName)'.")
      }
      return ClientMacro.self
    }

    static func main() throws {
      try CompilerPluginMessageListener(connection: StandardIOMessageConnection(), provider: Plugin.coffer).main()
    }
  }
#endif
