#if !Macros
  /// The plug-in of a build without the trait `Macros`, which no compiler starts.
  @main enum Plugin { static func main() {} }
#elseif !canImport(SwiftSyntaxMacros) || !canImport(SwiftCompilerPluginMessageHandling)
  #error(
    """
    The trait 'Macros' of Coffer needs the swift-syntax modules of the toolchain, and this one has no \
    lib/swift/host/SwiftSyntax.swiftmodule. Disable the trait: all but the macro '@Client' works without it. Or use a \
    toolchain of swift.org for Linux. On other systems, COFFER_SWIFT_HOST names the folder lib/swift/host.
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
        throw UnknownMacro(description: "The plug-in CofferClientMacros has no macro '\(typeName)'.")
      }
      return ClientMacro.self
    }

    static func main() throws {
      try CompilerPluginMessageListener(connection: StandardIOMessageConnection(), provider: Plugin.coffer).main()
    }
  }
#endif
