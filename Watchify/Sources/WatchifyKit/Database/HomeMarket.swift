import Foundation

/// The country to request if neither the user nor the shop specifies one.
enum HomeMarket {
  /// Returns the country of a currency. For a currency of several countries, returns this device's region if it uses
  /// the currency, otherwise `nil`.
  static func country(of currency: String?, locale: Locale = .current) -> String? {
    switch currency?.uppercased() {
    case "USD": "US"
    case "GBP": "GB"
    case "CAD": "CA"
    case "AUD": "AU"
    case "NZD": "NZ"
    case "JPY": "JP"
    case "CHF": "CH"
    case "SEK": "SE"
    case "NOK": "NO"
    case "DKK": "DK"
    case "PLN": "PL"
    case "CZK": "CZ"
    case "HUF": "HU"
    case "RON": "RO"
    case "SGD": "SG"
    case "HKD": "HK"
    case "TWD": "TW"
    case "KRW": "KR"
    case "INR": "IN"
    case "MXN": "MX"
    case "BRL": "BR"
    case "COP": "CO"
    case "CLP": "CL"
    case "ZAR": "ZA"
    case "AED": "AE"
    case "ILS": "IL"
    case "THB": "TH"
    case "MYR": "MY"
    case let code? where code == locale.currency?.identifier: locale.region?.identifier
    default: nil
    }
  }
}
