/// Answers what is asked of the radio: names are looked up here, the rest is the controller's.
struct RadioDesk: Sendable {
    /// The names of the configured devices, in the order of the configuration.
    let devices: [String]
    /// Does it with the controller; `nil` while none is driven.
    let drive: (@Sendable (RadioRequest) async -> Result<RadioAnswer, ControlError>)?

    func perform(_ request: RadioRequest) async -> Result<RadioAnswer, ControlError> {
        if let device = request.device, !devices.contains(device) { return .failure(.unknownDevice(device, known: devices)) }
        guard let drive else { return .failure(.noController) }
        return await drive(request)
    }
}
