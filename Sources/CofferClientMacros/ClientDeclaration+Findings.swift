#if Macros && canImport(SwiftSyntaxMacros)
  import SwiftDiagnostics
  import SwiftParser
  import SwiftSyntax

  extension ClientDeclaration {
    /// What is wrong with the client. `node` is the attribute.
    func findings(at node: AttributeSyntax) -> [Diagnostic] {
      guard isPersistable else { return [] }
      return stateFindings + keyFindings + methodFindings + initializerFindings
        + (storesItself ? generationFindings(at: node) : undeclaredSaves)
    }

    private var stateFindings: [Diagnostic] {
      states.filter(\.isStatic).map {
        .error(
          $0.name,
          "'\($0.name.text)' is static, so that it belongs to no client and its edits are not saved. Remove 'static'.")
      }
    }

    private var keyFindings: [Diagnostic] {
      var found: [Diagnostic] = []
      var seen: [String] = []
      for (key, syntax) in keys ?? [] {
        if key.isEmpty || key.utf8.count > 1_024 {
          found.append(.error(syntax, "A key has 1 to 1,024 bytes; no session would start this client."))
        } else if seen.contains(key) {
          found.append(.warning(syntax, "The key '\(key)' is listed twice."))
        }
        seen.append(key)
      }
      return found
    }

    private var methodFindings: [Diagnostic] {
      guard (persist == nil) != (restore == nil), let written = persist ?? restore else { return [] }
      let other = persist == nil ? "persistState" : "restoreState"
      return [
        .error(
          written.name,
          "\(name) has \(written.name.text)() without \(other)(). Write both in the type itself; or neither, and "
            + "'@Client' writes them with the names of the properties as keys.")
      ]
    }

    private var initializerFindings: [Diagnostic] {
      // The memberwise initializer of a structure has parameters for them.
      guard !isStructure, !hasInitializer else { return [] }
      return withoutValue.map {
        .error(
          $0,
          "'\($0.text)' has no value, so that '@Client' cannot write init(persistence:). Give it one here, or write an "
            + "initializer.")
      }
    }

    /// Keys that `persistState()` writes although they are not declared: a session would refuse to save the client.
    private var undeclaredSaves: [Diagnostic] {
      guard let body = persist?.body, let keys else { return [] }
      let saves = SavedKeys(viewMode: .sourceAccurate)
      saves.walk(body)
      guard !saves.hasOtherPersistence else { return [] }
      return saves.found.filter { saved in !keys.contains { $0.key == saved.key } }.map { saved in
        .error(
          saved.syntax,
          "persistState() writes the key '\(saved.key)', which is not in persistedKeys: no session would save this "
            + "client. Add the key.")
      }
    }

    /// What keeps the macro from writing `persistState()` and `restoreState()`.
    private func generationFindings(at node: AttributeSyntax) -> [Diagnostic] {
      let byHand = "write persistState() and restoreState() in the type itself"
      if let state = states.first(where: \.isConditional) {
        return [
          .error(state.name, "'\(state.name.text)' is inside '#if', where '@Client' cannot store it: \(byHand).")
        ]
      }
      if isStructure, let state = states.first(where: \.hasObserver) {
        return [
          .error(
            state.name,
            "'\(state.name.text)' has an observer, so that restoreState() of a struct cannot assign it. Use a class "
              + "or an actor, or remove the observer.")
        ]
      }
      guard let declared = persistedKeys else {
        guard states.isEmpty else { return [] }
        return [.error(node, "\(name) stores nothing: mark a property with @ClientState, or \(byHand).")]
      }
      guard let keys else {
        return [
          .error(
            declared.bindings,
            "'@Client' cannot see these keys. List them as string literals, or \(byHand).")
        ]
      }
      return keys.compactMap { key, syntax in
        if states.contains(where: { $0.key == key }) { return nil }
        let reason =
          plain.contains(key)
          ? "The property '\(key)' is not marked with @ClientState, so that its edits would not be noticed"
          : "No @ClientState property has the name '\(key)'"
        return .error(syntax, "\(reason). Correct the name; for keys that are not names of properties, \(byHand).")
      }
    }
  }

  /// The literal keys that a function writes with the client's `persistence`.
  private final class SavedKeys: SyntaxVisitor {
    private(set) var found: [(key: String, syntax: ExprSyntax)] = []
    /// Whether the function has a `persistence` of its own.
    private(set) var hasOtherPersistence = false

    override func visit(_ node: IdentifierPatternSyntax) -> SyntaxVisitorContinueKind {
      if node.identifier.text == "persistence" { hasOtherPersistence = true }
      return .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
      guard let member = node.calledExpression.as(MemberAccessExprSyntax.self),
        ["persistence", "self.persistence"].contains(member.base?.trimmedDescription),
        let label = ["save": "for", "delete": "key"][member.declName.baseName.text],
        let key = node.arguments.first(where: { $0.label?.text == label })?.expression,
        let text = key.as(StringLiteralExprSyntax.self)?.representedLiteralValue
      else { return .visitChildren }
      found.append((text, key))
      return .visitChildren
    }
  }
#endif
