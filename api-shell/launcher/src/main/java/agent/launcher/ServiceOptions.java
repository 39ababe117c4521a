package agent.launcher;

import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;

/** What the options say of services. */
record ServiceOptions(OptionValues options) {
  private static final String OFF = "disable-orch-services";

  boolean isOn() {
    return !options.bool(OFF);
  }

  /**
   * Returns the device of {@code --lb}; null where there is none.
   *
   * @throws OptionException where services are off
   */
  String balancer() {
    final String device = options.text("lb");
    if (device.isEmpty()) {
      return null;
    }
    if (!isOn()) {
      throw new OptionException("--lb " + device + ": has no effect with --" + OFF);
    }
    return device;
  }

  /** Returns {@code --service-table-size}; 0 where packets select backends at random. */
  int tableMax() {
    return options.text("service-algorithm").equals("maglev")
        ? (int) options.number("service-table-size")
        : 0;
  }

  /** Returns {@code --max-service-backends}. */
  int maxBackends() {
    return (int) options.number("max-service-backends");
  }
}
