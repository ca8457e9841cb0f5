import WatchifyKit

/// The headers of pages that restrict what a browser does with them.
enum SecurityHeaders {
  /// Returns the headers. Pages contain neither code nor style, so the policy needs no exception.
  static func all(pictures: ProductPictures) -> [(name: String, value: String)] {
    let images = pictures == .direct ? "'self' https: http:" : "'self'"
    let policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src \(images); connect-src 'self'; "
      + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    return [
      ("Content-Security-Policy", policy), ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
      ("X-Content-Type-Options", "nosniff"),
      ("Cache-Control", "no-store"), ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
  }
}
