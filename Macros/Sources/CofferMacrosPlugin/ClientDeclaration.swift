#if canImport(SwiftSyntaxMacros)
  import SwiftDiagnostics
  import SwiftParser
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// What a type with `@Client` declares, as far as it is written in the type itself.
  struct ClientDeclaration {
    /// A property with `@ClientState`.
    private struct State {
      let name: String
      let key: String
    }

    /// Whether the type has state that is stored, or says that it has.
    private(set) var isPersistable = false
    private let isStructure: Bool
    /// The access level of the members that the macro writes, with a blank behind it.
    private let access: String
    private var states: [State] = []
    /// The names of all members.
    private var declared: [String] = []
    /// The elements of `persistedKeys`.
    private var keys: [StringLiteralExprSyntax] = []

    init?(_ declaration: some DeclGroupSyntax) {
      isStructure = declaration.is(StructDeclSyntax.self)
      guard isStructure || declaration.is(ClassDeclSyntax.self) || declaration.is(ActorDeclSyntax.self) else {
        return nil
      }
      let words = declaration.modifiers.map(\.name.text)
      let isPublic = words.contains { $0 == "public" || $0 == "open" }
      access = isPublic ? "public " : words.contains("package") ? "package " : ""
      read(declaration.memberBlock.members)
      isPersistable =
        !states.isEmpty || ["persistedKeys", "persistState", "restoreState"].contains(where: declared.contains)
        || declaration.inheritanceClause?.inheritedTypes.contains { $0.type.lastName == "Persistable" } ?? false
    }

    private mutating func read(_ members: MemberBlockItemListSyntax) {
      for member in members {
        if let condition = member.decl.as(IfConfigDeclSyntax.self) {
          for case .decls(let members)? in condition.clauses.map(\.elements) { read(members) }
        } else if member.decl.is(InitializerDeclSyntax.self) {
          declared.append("init")
        } else if let function = member.decl.as(FunctionDeclSyntax.self) {
          if function.signature.parameterClause.parameters.isEmpty { declared.append(function.name.text) }
        } else if let variable = member.decl.as(VariableDeclSyntax.self) {
          read(variable)
        }
      }
    }

    private mutating func read(_ variable: VariableDeclSyntax) {
      let isState = variable.attributes.contains {
        $0.as(AttributeSyntax.self)?.attributeName.lastName == "ClientState"
      }
      for name in variable.bindings.compactMap({ $0.pattern.as(IdentifierPatternSyntax.self)?.identifier }) {
        declared.append(name.text)
        if isState { states.append(State(name: name.text, key: name.identifier?.name ?? name.text)) }
        guard name.text == "persistedKeys" else { continue }
        let literals = Literals(viewMode: .sourceAccurate)
        literals.walk(variable)
        keys = literals.found
      }
    }

    /// Whether the macro writes `persistState()` and `restoreState()`.
    private var storesItself: Bool {
      isPersistable && !declared.contains("persistState") && !declared.contains("restoreState")
    }

    /// The keys that no property has, so that nothing would be stored under them.
    var findings: [Diagnostic] {
      guard storesItself else { return [] }
      return keys.filter { key in !states.contains { $0.key == key.representedLiteralValue } }.map { key in
        .error(
          key,
          "No @ClientState property has the name \(key.trimmedDescription). Correct the name; for keys that are not "
            + "names of properties, write persistState() and restoreState() in the type itself.")
      }
    }

    /// The members that the type needs and does not declare.
    var missingMembers: [DeclSyntax] {
      guard isPersistable else { return [] }
      var members: [DeclSyntax] = []
      if !declared.contains("persistence") {
        members.append("\(raw: access)let persistence: any CofferPersistence.PersistenceCapability")
        // A structure has its memberwise initializer.
        if !isStructure, !declared.contains("init") {
          members.append(
            """
            \(raw: access)init(persistence: any CofferPersistence.PersistenceCapability) {
              self.persistence = persistence
            }
            """)
        }
      }
      guard storesItself else { return members }
      let names = keys.compactMap(\.representedLiteralValue)
      let stored = keys.isEmpty ? states : states.filter { names.contains($0.key) }
      if !declared.contains("persistedKeys") {
        let keys = stored.map { "\"\($0.key)\"" }.joined(separator: ", ")
        // Computed, since generic types have no stored static properties.
        members.append("\(raw: access)nonisolated static var persistedKeys: [String] { [\(raw: keys)] }")
      }
      let saves = stored.map { "  try await persistence.save(self.\($0.name), for: \"\($0.key)\")\n" }
      members.append("\(raw: access)func persistState() async throws {\n\(raw: saves.joined())}")
      let loads = stored.map { state in
        """
          if let saved = try await persistence.load(Swift.type(of: self.\(state.name)), for: "\(state.key)") {
            self.\(state.name) = saved
          }

        """
      }
      members.append("\(raw: access)func restoreState() async throws {\n\(raw: loads.joined())}")
      return members
    }
  }

  private final class Literals: SyntaxVisitor {
    private(set) var found: [StringLiteralExprSyntax] = []

    override func visit(_ node: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind {
      found.append(node)
      return .skipChildren
    }
  }
#endif
