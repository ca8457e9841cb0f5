#if canImport(SwiftSyntaxMacros)
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// Checks a client at compile time, and writes what its author has left out.
  struct ClientMacro: MemberMacro, ExtensionMacro {
    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      guard let client = ClientDeclaration(declaration) else {
        context.diagnose(.error(node, "'@Client' belongs on a struct, a class or an actor: other types hold no state."))
        return []
      }
      client.findings.forEach(context.diagnose)
      // Also beside an error, which would otherwise be followed by errors about their absence.
      return client.missingMembers
    }

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      guard let client = ClientDeclaration(declaration) else { return [] }
      // The compiler passes the protocols that the type does not declare, and expects each to be declared here, even if
      // another implies it.
      let names = client.isPersistable ? ["Client", "Persistable"] : ["Client"]
      return try names.filter { name in protocols.contains { $0.lastName == name } }.map { name in
        try ExtensionDeclSyntax("extension \(type.trimmed): CofferPersistence.\(raw: name) {}")
      }
    }
  }

  extension TypeSyntax {
    /// The last part of a name: `Client` of `CofferPersistence.Client`; `nil` for other types.
    var lastName: String? {
      self.as(IdentifierTypeSyntax.self)?.name.text ?? self.as(MemberTypeSyntax.self)?.name.text
    }
  }

  /// A mistake in a client.
  private struct ClientMessage: DiagnosticMessage {
    let message: String
    let severity = DiagnosticSeverity.error
    let diagnosticID = MessageID(domain: "CofferMacrosPlugin", id: "error")
  }

  extension Diagnostic {
    static func error(_ node: some SyntaxProtocol, _ text: String) -> Diagnostic {
      Diagnostic(node: node, message: ClientMessage(message: text))
    }
  }
#endif
