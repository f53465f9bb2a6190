// swift-tools-version: 6.0
import PackageDescription

/// Every Swift target is held to the same rules: language mode 6 and no warning left standing.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .unsafeFlags(["-warnings-as-errors"]),
]

let package = Package(
    name: "gateway",
    products: [
        .executable(name: "gateway", targets: ["gateway"]),
        .executable(name: "simulated-collar", targets: ["simulated-collar"]),
        .library(name: "Platform", targets: ["Platform"]),
        .library(name: "Radio", targets: ["Radio"]),
        .library(name: "Outbox", targets: ["Outbox"]),
        .library(name: "Uplink", targets: ["Uplink"]),
        .library(name: "Indicators", targets: ["Indicators"]),
        .library(name: "Simulation", targets: ["Simulation"]),
    ],
    targets: [
        // Bindings: module maps, and a few lines of C where Swift cannot call a macro or a variadic.
        .target(name: "CLinux"),
        .target(name: "CTOML", cxxSettings: [.define("TOML_HEADER_ONLY", to: "0"), .define("TOML_SHARED_LIB", to: "1")],
                linkerSettings: [.linkedLibrary("tomlplusplus")]),
        .target(name: "CBlueZ", linkerSettings: [.linkedLibrary("bluetooth")]),
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CGPIOD", linkerSettings: [.linkedLibrary("gpiod")]),
        .target(name: "CCrypto", linkerSettings: [.linkedLibrary("crypto")]),
        .target(name: "CJansson", linkerSettings: [.linkedLibrary("jansson")]),

        // The daemon, from the ground up. Arrows point down only; the four in the middle do not know each other.
        .target(name: "Platform", dependencies: ["CLinux", "CCrypto", "CJansson"], swiftSettings: strict),
        .target(name: "Radio", dependencies: ["Platform", "CBlueZ", "CLinux"], swiftSettings: strict),
        .target(name: "Outbox", dependencies: ["Platform", "CSQLite"], swiftSettings: strict),
        .target(name: "Uplink", dependencies: ["Platform", "CCurl"], swiftSettings: strict),
        .target(name: "Indicators", dependencies: ["Platform", "CGPIOD", "CLinux"], swiftSettings: strict),
        .executableTarget(name: "gateway",
                          dependencies: ["Platform", "Radio", "Outbox", "Uplink", "Indicators", "CTOML", "CJansson", "CLinux",
                                         "CCrypto", "CCurl", "CGPIOD", "CSQLite"],
                          swiftSettings: strict),

        // What misbehaves on purpose. Never linked into the daemon.
        .target(name: "Simulation", dependencies: ["Platform", "CLinux"], swiftSettings: strict),
        .executableTarget(name: "simulated-collar", dependencies: ["Platform", "Simulation", "CLinux"], swiftSettings: strict),

        // A process of its own for what cannot be seen from inside a test runner: threads and signals.
        .executableTarget(name: "loop-probe", dependencies: ["Platform"], path: "Tests/Support/loop-probe", swiftSettings: strict),
        // The management channel and the listener on a kernel with Bluetooth, which the machines that build this need not have.
        .executableTarget(name: "radio-probe", dependencies: ["Platform", "Radio"], path: "Tests/Support/radio-probe", swiftSettings: strict),
        .testTarget(name: "PlatformTests", dependencies: ["Platform", "CLinux", "loop-probe"], swiftSettings: strict),
        .testTarget(name: "RadioTests", dependencies: ["Radio", "Platform", "Simulation"], swiftSettings: strict),
        .target(name: "CMisbehavingDisk", dependencies: ["CSQLite"], path: "Tests/CMisbehavingDisk"),
        .testTarget(name: "OutboxTests", dependencies: ["Outbox", "Platform", "CSQLite", "CMisbehavingDisk"], swiftSettings: strict),
        .testTarget(name: "UplinkTests", dependencies: ["Uplink", "Platform", "CLinux"], swiftSettings: strict),
        .testTarget(name: "IndicatorsTests", dependencies: ["Indicators", "Platform", "CLinux"], swiftSettings: strict),
        .testTarget(name: "SimulationTests", dependencies: ["Simulation", "Platform"], swiftSettings: strict),
        .testTarget(name: "GatewayTests",
                    dependencies: ["gateway", "simulated-collar", "Simulation", "Platform", "Radio", "Outbox", "Uplink", "Indicators", "CMisbehavingDisk"],
                    swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)

// A fuzzer's runtime calls into it: it has no entry point of its own, and is built by scripts/fuzz-cuffs alone.
if Context.environment["HUB_FUZZ"] != nil {
    package.targets.append(.executableTarget(
        name: "cuff-fuzz", dependencies: ["Platform", "Radio"], path: "Tests/Fuzz/cuff-fuzz",
        swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]
    ))
}
