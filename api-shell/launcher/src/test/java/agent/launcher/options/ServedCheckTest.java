package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ServedCheckTest {
  private static final ServedCheck.KernelProbe NOTHING_MISSING =
      (option, value) -> Optional.empty();

  @Test
  void shouldStartWithAllDefaults() {
    assertDoesNotThrow(() -> check(NOTHING_MISSING));
  }

  @Test
  void shouldStopForEveryOptionThatIsNotServedAndAsksForSomething() {
    int stopped = 0;
    for (final AgentOption option : OptionTable.all()) {
      if (option.served() || option.inert().contains(wish(option))) {
        continue;
      }
      final OptionException refusal =
          assertThrows(
              OptionException.class,
              () -> check(NOTHING_MISSING, "--" + option.name() + "=" + wish(option)),
              option.name());
      assertTrue(
          refusal.getMessage().startsWith("--" + option.name())
              && refusal
                  .getMessage()
                  .endsWith(
                      ": requires " + option.needs() + ", which this version does not support"),
          refusal.getMessage());
      stopped++;
    }
    assertTrue(stopped > 26, "options not served: " + stopped);
  }

  /** A row that says nothing would tell the operator nothing. */
  @Test
  void shouldNameForEveryOptionThatIsNotServedWhatItNeeds() {
    final List<String> silent =
        OptionTable.all().stream()
            .filter(option -> !option.served() && option.needs().equals(AgentOption.LATER))
            .map(AgentOption::name)
            .toList();
    assertEquals(List.of(), silent);
  }

  @Test
  void shouldTakeValuesThatAskForNothing() {
    assertDoesNotThrow(
        () ->
            check(
                NOTHING_MISSING,
                "--tunnel=disabled",
                "--container-runtime=none",
                "--ipvlan-master-device=undefined",
                "--enable-ipsec=false",
                "--kvstore="));
  }

  @Test
  void shouldTakeEveryDefaultThatIsNamed() {
    for (final AgentOption option : OptionTable.all()) {
      assertDoesNotThrow(
          () ->
              check(
                  (name, value) -> Optional.of("CONFIG_NOT_ASKED_FOR"),
                  "--" + option.name() + "=" + option.defaultText()),
          option.name());
    }
    assertDoesNotThrow(() -> check(NOTHING_MISSING, "--kvstore-periodic-sync", "300"));
    assertDoesNotThrow(
        () -> check(NOTHING_MISSING, "--tunnel", "VXLAN", "--http-request-timeout=1h"));
  }

  @Test
  void shouldSayInWordsOfAnOperatorWhatAnOptionNeeds() {
    assertRefused(
        "--ipv4-service-range 10.96.0.0/12: requires the load balancer, which this version does not"
            + " support",
        "--ipv4-service-range=10.96.0.0/12");
    assertRefused(
        "--tunnel geneve: requires the overlay between nodes, which this version does not support",
        "-t",
        "geneve");
  }

  private static void assertRefused(String message, String... arguments) {
    assertEquals(
        message,
        assertThrows(OptionException.class, () -> check(NOTHING_MISSING, arguments)).getMessage());
  }

  @Test
  void shouldNameTheKernelSymbolThatIsMissing() {
    final OptionException refusal =
        assertThrows(
            OptionException.class,
            () -> check((option, value) -> Optional.of("CONFIG_GENEVE"), "--tunnel", "geneve"));
    assertEquals(
        "--tunnel geneve: this kernel is built without CONFIG_GENEVE", refusal.getMessage());
  }

  @Test
  void shouldNotShowValuesThatMayBeSecrets() {
    final OptionException refusal =
        assertThrows(
            OptionException.class,
            () -> check(NOTHING_MISSING, "--kvstore-opt", "password=hidden"));
    assertEquals(
        "--kvstore-opt: requires a key-value store, which this version does not support",
        refusal.getMessage());
  }

  @Test
  void shouldShowASwitchAsItIsGiven() {
    final Map<String, String> shown =
        Map.of(
            "--enable-ipsec", "--enable-ipsec: requires ",
            "--enable-ipsec=true", "--enable-ipsec: requires ");
    shown.forEach(
        (given, start) -> {
          final String message =
              assertThrows(OptionException.class, () -> check(NOTHING_MISSING, given)).getMessage();
          assertTrue(message.startsWith(start), message);
        });
  }

  private static void check(ServedCheck.KernelProbe probe, String... arguments) {
    ServedCheck.check(OptionValues.read(List.of(arguments), Map.of()), probe);
  }

  /** A value that is neither the default nor inert. */
  private static String wish(AgentOption option) {
    return switch (option.type()) {
      case BOOL -> option.defaultText().equals("true") ? "false" : "true";
      case INT, DURATION -> option.defaultText().equals("2") ? "3" : "2";
      case STRING ->
          option.choices().isEmpty()
              ? "wished"
              : option.choices().stream()
                  .filter(c -> !c.equals(option.defaultText()) && !option.inert().contains(c))
                  .findFirst()
                  .orElseThrow();
      case STRINGS -> "wished";
      case MAP -> "wished=for";
    };
  }

  @Test
  void shouldAskTheKernelForAnOptionAndItsValue() {
    final OptionException refusal =
        assertThrows(
            OptionException.class,
            () -> check((name, value) -> Optional.of(name + " of " + value), "--tunnel=geneve"));
    assertEquals(
        "--tunnel geneve: this kernel is built without tunnel of geneve", refusal.getMessage());
  }
}
