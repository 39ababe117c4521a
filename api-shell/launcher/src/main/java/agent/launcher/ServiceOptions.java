package agent.launcher;

import agent.launcher.options.OptionValues;

/** What the options say of services. */
record ServiceOptions(OptionValues options) {
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
