package import CofferCGio
import Foundation

extension BusValue {
  // MARK: From GLib

  /// Creates a value from a GVariant, without taking ownership of it.
  package init(_ variant: OpaquePointer, _ gio: UnsafePointer<coffer_gio>) {
    let type = String(cString: gio.pointee.g_variant_get_type_string(variant))
    switch type.utf8.first {
    case UInt8(ascii: "b"): self = .bool(gio.pointee.g_variant_get_boolean(variant) != 0)
    case UInt8(ascii: "y"): self = .byte(gio.pointee.g_variant_get_byte(variant))
    case UInt8(ascii: "n"): self = .int16(gio.pointee.g_variant_get_int16(variant))
    case UInt8(ascii: "q"): self = .uint16(gio.pointee.g_variant_get_uint16(variant))
    case UInt8(ascii: "i"): self = .int32(gio.pointee.g_variant_get_int32(variant))
    case UInt8(ascii: "u"): self = .uint32(gio.pointee.g_variant_get_uint32(variant))
    case UInt8(ascii: "x"): self = .int64(gio.pointee.g_variant_get_int64(variant))
    case UInt8(ascii: "t"): self = .uint64(gio.pointee.g_variant_get_uint64(variant))
    case UInt8(ascii: "d"): self = .double(gio.pointee.g_variant_get_double(variant))
    case UInt8(ascii: "h"): self = .handle(gio.pointee.g_variant_get_handle(variant))
    case UInt8(ascii: "s"): self = .string(String(cString: gio.pointee.g_variant_get_string(variant, nil)))
    case UInt8(ascii: "o"): self = .objectPath(String(cString: gio.pointee.g_variant_get_string(variant, nil)))
    case UInt8(ascii: "g"): self = .signature(String(cString: gio.pointee.g_variant_get_string(variant, nil)))
    case UInt8(ascii: "v"):
      let inner = gio.pointee.g_variant_get_variant(variant)
      defer { gio.pointee.g_variant_unref(inner) }
      self = .variant(BusValue(inner, gio))
    case UInt8(ascii: "a") where type == "ay":
      let count = gio.pointee.g_variant_get_size(variant)
      self = .bytes(gio.pointee.g_variant_get_data(variant).map { Data(bytes: $0, count: count) } ?? Data())
    case UInt8(ascii: "a"):
      self = .array(of: String(type.dropFirst()), Self.children(of: variant, gio))
    case UInt8(ascii: "{"):
      let children = Self.children(of: variant, gio)
      self = .entry(children[0], children[1])
    default: self = .structure(Self.children(of: variant, gio))
    }
  }

  private static func children(of variant: OpaquePointer, _ gio: UnsafePointer<coffer_gio>) -> [BusValue] {
    (0..<gio.pointee.g_variant_n_children(variant)).map { index in
      let child = gio.pointee.g_variant_get_child_value(variant, index)
      defer { gio.pointee.g_variant_unref(child) }
      return BusValue(child, gio)
    }
  }

  // MARK: To GLib

  /// Returns the value as a GVariant with a floating reference, which its consumer takes ownership of.
  /// - Throws: ``BusFailure`` of kind `invalid` for values that are not valid in D-Bus.
  package func makeVariant(_ gio: UnsafePointer<coffer_gio>) throws(BusFailure) -> OpaquePointer {
    // Validate everything first: variants that were created before a failure would leak.
    try check(gio)
    return made(gio)
  }

  private func check(_ gio: UnsafePointer<coffer_gio>) throws(BusFailure) {
    switch self {
    case .bool, .byte, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .handle, .bytes: break
    case .string(let text):
      guard !text.utf8.contains(0) else { throw BusFailure(.invalid, "a string contains a zero byte") }
    case .objectPath(let path):
      guard !path.utf8.contains(0), gio.pointee.g_variant_is_object_path(path) != 0 else {
        throw BusFailure(.invalid, "'\(path)' is not an object path")
      }
    case .signature(let text):
      guard !text.utf8.contains(0), gio.pointee.g_variant_is_signature(text) != 0 else {
        throw BusFailure(.invalid, "'\(text)' is not a signature")
      }
    case .array(let type, let elements):
      guard Self.isType(type, gio) else { throw BusFailure(.invalid, "'\(type)' is not a type") }
      for element in elements {
        guard element.signature == type else {
          throw BusFailure(.invalid, "a '\(element.signature)' is in an array of '\(type)'")
        }
        if case .entry(let key, let value) = element {
          try key.check(gio)
          try value.check(gio)
        } else {
          try element.check(gio)
        }
      }
    case .structure(let members):
      for member in members { try member.check(gio) }
    case .entry: throw BusFailure(.invalid, "an entry is outside of a dictionary")
    case .variant(let value): try value.check(gio)
    }
  }

  /// Returns whether a text is one complete type, possibly a dictionary entry. GLib has types that D-Bus lacks.
  static func isType(_ text: String, _ gio: UnsafePointer<coffer_gio>) -> Bool {
    let letters = "bynqiuxtdhsogav(){}".utf8
    return text.utf8.allSatisfy { letters.contains($0) } && gio.pointee.g_variant_type_string_is_valid(text) != 0
  }

  private func made(_ gio: UnsafePointer<coffer_gio>) -> OpaquePointer {
    switch self {
    case .bool(let value): gio.pointee.g_variant_new_boolean(value ? 1 : 0)
    case .byte(let value): gio.pointee.g_variant_new_byte(value)
    case .int16(let value): gio.pointee.g_variant_new_int16(value)
    case .uint16(let value): gio.pointee.g_variant_new_uint16(value)
    case .int32(let value): gio.pointee.g_variant_new_int32(value)
    case .uint32(let value): gio.pointee.g_variant_new_uint32(value)
    case .int64(let value): gio.pointee.g_variant_new_int64(value)
    case .uint64(let value): gio.pointee.g_variant_new_uint64(value)
    case .double(let value): gio.pointee.g_variant_new_double(value)
    case .handle(let value): gio.pointee.g_variant_new_handle(value)
    case .string(let text): gio.pointee.g_variant_new_string(text)
    case .objectPath(let path): gio.pointee.g_variant_new_object_path(path)
    case .signature(let text): gio.pointee.g_variant_new_signature(text)
    case .bytes(let data):
      data.withUnsafeBytes { bytes in
        gio.withType("y") { gio.pointee.g_variant_new_fixed_array($0, bytes.baseAddress, bytes.count, 1) }
      }
    case .array(let type, let elements):
      Self.withVariants(elements, gio) { variants in
        gio.withType(type) { gio.pointee.g_variant_new_array($0, variants, variants.count) }
      }
    case .structure(let members):
      Self.withVariants(members, gio) { gio.pointee.g_variant_new_tuple($0, $0.count) }
    case .entry(let key, let value): gio.pointee.g_variant_new_dict_entry(key.made(gio), value.made(gio))
    case .variant(let value): gio.pointee.g_variant_new_variant(value.made(gio))
    }
  }

  private static func withVariants<R>(
    _ values: [BusValue], _ gio: UnsafePointer<coffer_gio>, _ body: ([OpaquePointer?]) -> R
  ) -> R {
    body(values.map { $0.made(gio) })
  }
}

extension UnsafePointer<coffer_gio> {
  /// Calls `body` with the type for `text`, which must be valid.
  func withType<R>(_ text: String, _ body: (OpaquePointer) -> R) -> R {
    let type = pointee.g_variant_type_new(text)
    defer { pointee.g_variant_type_free(type) }
    return body(type)
  }
}
