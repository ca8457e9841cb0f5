#if Macros && canImport(SwiftSyntaxMacros)
  import SwiftParser
  import SwiftSyntax

  /// What a type with `@Client` declares, as far as it is written in the type itself.
  struct ClientDeclaration {
    /// A property with `@ClientState`.
    struct State {
      let name: TokenSyntax
      let isStatic: Bool
      /// Whether it is inside `#if`, so that it may be absent.
      let isConditional: Bool
      let hasObserver: Bool

      /// The key of the property if the macro writes `persistState()`.
      var key: String { name.identifier?.name ?? name.text }
    }

    private(set) var name = ""
    private(set) var isStructure = false
    private(set) var inheritsPersistable = false
    /// The access level of the members that the macro writes, with a blank behind it.
    private(set) var access = ""
    private(set) var states: [State] = []
    private(set) var persistence: (type: TypeSyntax?, hasValue: Bool)?
    private(set) var persistedKeys: VariableDeclSyntax?
    private(set) var persist: FunctionDeclSyntax?
    private(set) var restore: FunctionDeclSyntax?
    private(set) var hasInitializer = false
    /// Other properties that an initializer has to give a value.
    private(set) var withoutValue: [TokenSyntax] = []
    /// Whether the memberwise initializer of a structure is private, since a stored property is.
    private(set) var hidesStorage = false
    /// The names of stored properties without `@ClientState`.
    private(set) var plain: [String] = []

    init?(_ declaration: some DeclGroupSyntax) {
      if let declaration = declaration.as(StructDeclSyntax.self) {
        (name, isStructure) = (declaration.name.text, true)
      } else if let declaration = declaration.as(ClassDeclSyntax.self) {
        name = declaration.name.text
      } else if let declaration = declaration.as(ActorDeclSyntax.self) {
        name = declaration.name.text
      } else {
        return nil
      }
      let words = declaration.modifiers.map(\.name.text)
      if words.contains(where: { $0 == "public" || $0 == "open" }) { access = "public " }
      if words.contains("package") { access = "package " }
      inheritsPersistable =
        declaration.inheritanceClause?.inheritedTypes.contains { $0.type.lastName == "Persistable" } ?? false
      read(declaration.memberBlock.members, isConditional: false)
    }

    /// Whether the type has state that is stored, or says that it has.
    var isPersistable: Bool {
      inheritsPersistable || persistedKeys != nil || persist != nil || restore != nil || !states.isEmpty
    }

    /// Whether the macro writes `persistState()` and `restoreState()`.
    var storesItself: Bool { isPersistable && persist == nil && restore == nil }

    /// The elements of `persistedKeys`, if they are literals.
    var keys: [(key: String, syntax: StringLiteralExprSyntax)]? {
      guard let binding = persistedKeys?.bindings.first,
        let array = (binding.initializer?.value ?? binding.onlyExpression)?.as(ArrayExprSyntax.self)
      else { return nil }
      var keys: [(key: String, syntax: StringLiteralExprSyntax)] = []
      for element in array.elements {
        guard let literal = element.expression.as(StringLiteralExprSyntax.self),
          let key = literal.representedLiteralValue
        else { return nil }
        keys.append((key, literal))
      }
      return keys
    }

    private mutating func read(_ members: MemberBlockItemListSyntax, isConditional: Bool) {
      for member in members {
        if let condition = member.decl.as(IfConfigDeclSyntax.self) {
          for case .decls(let members)? in condition.clauses.map(\.elements) { read(members, isConditional: true) }
        } else if member.decl.is(InitializerDeclSyntax.self) {
          hasInitializer = true
        } else if let function = member.decl.as(FunctionDeclSyntax.self) {
          guard function.signature.parameterClause.parameters.isEmpty, !function.modifiers.hasStatic else { continue }
          if function.name.text == "persistState" { persist = function }
          if function.name.text == "restoreState" { restore = function }
        } else if let variable = member.decl.as(VariableDeclSyntax.self) {
          read(variable, isConditional: isConditional)
        }
      }
    }

    private mutating func read(_ variable: VariableDeclSyntax, isConditional: Bool) {
      let (isState, isStatic) = (variable.attributes.hasClientState, variable.modifiers.hasStatic)
      for binding in variable.bindings {
        guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else { continue }
        if isStatic, name.text == "persistedKeys" { persistedKeys = variable }
        if isState {
          let hasObserver = binding.accessorBlock != nil
          states.append(
            State(name: name, isStatic: isStatic, isConditional: isConditional, hasObserver: hasObserver))
        }
        guard !isStatic else { continue }
        let hasValue = binding.initializer != nil || binding.isComputed
        if name.text == "persistence" {
          persistence = (binding.typeAnnotation?.type.trimmed, hasValue)
        } else if !hasValue, !variable.getsValueByItself(binding) {
          withoutValue.append(name)
        }
        guard !binding.isComputed else { continue }
        if !isState { plain.append(name.text) }
        let words = variable.modifiers.filter { $0.detail == nil }.map(\.name.text)
        if words.contains(where: { $0 == "private" || $0 == "fileprivate" }) { hidesStorage = true }
      }
    }
  }

  extension PatternBindingSyntax {
    /// Whether the property has accessors other than observers.
    fileprivate var isComputed: Bool {
      guard let accessors = accessorBlock?.accessors else { return false }
      // The enumerations of swift-syntax may get more cases.
      guard case .accessors(let list) = accessors else { return true }
      return !list.allSatisfy { ["willSet", "didSet"].contains($0.accessorSpecifier.text) }
    }

    /// The expression that the getter consists of.
    fileprivate var onlyExpression: ExprSyntax? {
      guard case .getter(let items)? = accessorBlock?.accessors, items.count == 1, let item = items.first?.item else {
        return nil
      }
      if case .expr(let expression) = item { return expression }
      if case .stmt(let statement) = item { return statement.as(ReturnStmtSyntax.self)?.expression }
      return nil
    }
  }

  extension VariableDeclSyntax {
    /// Whether a property without an initial value has one nevertheless: an optional variable, or perhaps one with a
    /// property wrapper of somebody else.
    fileprivate func getsValueByItself(_ binding: PatternBindingSyntax) -> Bool {
      if !attributes.isEmpty, !attributes.hasClientState { return true }
      guard let type = binding.typeAnnotation?.type, attributes.isEmpty else { return false }
      return bindingSpecifier.text == "var"
        && (type.is(OptionalTypeSyntax.self) || type.is(ImplicitlyUnwrappedOptionalTypeSyntax.self))
    }
  }

  extension AttributeListSyntax {
    fileprivate var hasClientState: Bool {
      contains { $0.as(AttributeSyntax.self)?.attributeName.lastName == "ClientState" }
    }
  }

  extension DeclModifierListSyntax {
    fileprivate var hasStatic: Bool { contains { $0.name.text == "static" || $0.name.text == "class" } }
  }
#endif
