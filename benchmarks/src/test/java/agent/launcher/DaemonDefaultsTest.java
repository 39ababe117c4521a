package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import agent.benchmarks.ShippedOptions;
import agent.datapath.spec.EndpointSpec;
import agent.endpoint.state.EndpointOptions;
import agent.endpoint.state.MutableOption;
import agent.launcher.options.AgentOption;
import agent.launcher.options.OptionTable;
import agent.launcher.options.OptionValues;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The benchmarks run with what a daemon that is started without options runs with. */
class DaemonDefaultsTest {
  private static final Set<String> PLACES = Set.of("state-dir", "bpf-root", "prefilter-device");

  private final DaemonDefaults defaults =
      new DaemonDefaults(Path.of("/tmp/state"), Path.of("/tmp/bpf"), "net0");

  @Test
  void shouldGiveNoOptionButThePlaces() {
    for (final AgentOption option : OptionTable.all()) {
      assertEquals(
          PLACES.contains(option.name()), defaults.options().isGiven(option.name()), option.name());
    }
  }

  @Test
  void shouldAttachEndpointsWithTheOptionsOfTheDaemon() {
    final EndpointOptions daemon =
        new Settings(OptionValues.read(List.of(), Map.of())).endpointOptions();
    assertEquals(daemon, defaults.endpoint());
    final EndpointSpec spec = ShippedOptions.endpoint(defaults);
    assertEquals(daemon.bits(), spec.options());
    assertEquals(daemon.aggregation().ordinal(), spec.aggregation());
  }

  @Test
  void shouldPrintEveryOptionOfAnEndpointThatIsAttached() {
    final String line = ShippedOptions.text(ShippedOptions.endpoint(defaults));
    for (final MutableOption option : MutableOption.values()) {
      if (option.bit() != 0) {
        final String value = defaults.endpoint().enabled(option) ? "on" : "off";
        assertEquals(true, line.contains(option.optionName() + " " + value), line);
      }
    }
    assertFalse(line.isEmpty());
  }
}
