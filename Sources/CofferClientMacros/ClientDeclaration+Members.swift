#if Macros && canImport(SwiftSyntaxMacros)
  import SwiftSyntax
  import SwiftSyntaxBuilder

  extension ClientDeclaration {
    /// The members that the type needs and does not declare.
    var missingMembers: [DeclSyntax] {
      guard isPersistable else { return [] }
      var members: [DeclSyntax] = []
      if persistence == nil { members.append("\(raw: access)let persistence: any Coffer.PersistenceCapability") }
      if needsInitializer { members.append(initializer) }
      if persistedKeys == nil, persist == nil || restore == nil {
        let keys = storedStates.map { "\"\($0.key)\"" }.joined(separator: ", ")
        // Computed, since generic types have no stored static properties.
        members.append("\(raw: access)nonisolated static var persistedKeys: [String] { [\(raw: keys)] }")
      }
      if persist == nil { members.append(persistState) }
      if restore == nil { members.append(restoreState) }
      return members
    }

    private var persistState: DeclSyntax {
      let saves = storedStates.map { "  try await persistence.save(self.\($0.name.text), for: \"\($0.key)\")\n" }
      return "\(raw: access)func persistState() async throws {\n\(raw: saves.joined())}"
    }

    private var restoreState: DeclSyntax {
      let loads = storedStates.map { state in
        """
          if let saved = try await persistence.load(Swift.type(of: self.\(state.name.text)), for: "\(state.key)") {
            self.\(state.name.text) = saved
          }

        """
      }
      return "\(raw: access)func restoreState() async throws {\n\(raw: loads.joined())}"
    }

    /// Whether `Type(persistence:)` would not compile, or not everywhere that the type is visible. Other structures
    /// keep their memberwise initializer, which an initializer in the type would remove.
    private var needsInitializer: Bool {
      guard !hasInitializer, persistence?.hasValue != true, withoutValue.isEmpty else { return false }
      return !isStructure || !access.isEmpty || hidesStorage
    }

    private var initializer: DeclSyntax {
      let type = persistence?.type?.description ?? "any Coffer.PersistenceCapability"
      return "\(raw: access)init(persistence: \(raw: type)) {\n  self.persistence = persistence\n}"
    }

    /// The properties that `persistState()` saves: all, or those that are named by keys.
    private var storedStates: [State] {
      let states = states.filter { !$0.isStatic && !$0.isConditional }
      guard let keys else { return states }
      return states.filter { state in keys.contains { $0.key == state.key } }
    }
  }
#endif
