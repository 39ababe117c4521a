package agent.launcher.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is shown of options: what runs, not what was typed, and no secret. */
class OptionsInForceTest {
  private static Map<String, Object> effective(Map<String, Object> realized, String... arguments) {
    return OptionsInForce.of(OptionValues.read(List.of(arguments), Map.of()), realized);
  }

  @Test
  void shouldShowEveryOptionOfTheTable() {
    assertEquals(
        OptionTable.all().stream().map(AgentOption::name).toList(),
        List.copyOf(effective(Map.of()).keySet()));
  }

  /** The defaults of these name features that this agent does not have. */
  @ParameterizedTest
  @CsvSource({
    "tunnel, disabled",
    "container-runtime, [none]",
    "runtime-socket, not enabled",
    "enable-ipsec, false",
    "kvstore, ''",
    "kvstore-opt, {}",
    "cluster-id, 0"
  })
  void shouldSayOfAFeatureThatIsOffThatItIsOff(String option, String value) {
    assertFalse(OptionTable.byName(option).served(), option + " is served now: take it out here");
    assertEquals(value, effective(Map.of()).get(option).toString());
  }

  @Test
  void shouldShowWhatTheDaemonHasChosen() {
    final Map<String, Object> shown =
        effective(Map.of("ipv4-range", "10.1.0.0/16"), "--cluster-name=blue", "--labels=a,b");
    assertEquals("10.1.0.0/16", shown.get("ipv4-range"));
    assertEquals("blue", shown.get("cluster-name"));
    final Map<String, String> text = OptionsInForce.text(shown, Set.of("cluster-name"));
    assertEquals("a,b", text.get("labels"));
    assertFalse(text.containsKey("cluster-name"));
    assertEquals(shown.size() - 1, text.size());
  }

  @Test
  void shouldShowTheValuesOfPairs() {
    final Map<String, Object> shown = effective(Map.of(), "--api-rate-limit=read=7,ipam=9/m");
    assertEquals(Map.of("read", "7", "ipam", "9/m"), shown.get("api-rate-limit"));
    assertEquals("read=7,ipam=9/m", OptionsInForce.text(shown, Set.of()).get("api-rate-limit"));
  }

  @ParameterizedTest
  @CsvSource({
    "AWS_SECRET_ACCESS, x, ***",
    "GITHUB_TOKEN, x, ***",
    "db_password, x, ***",
    "PGPASSWORD, x, ***",
    "SSH_AUTH_SOCK, x, ***",
    "TLS_CERT, x, ***",
    "apiKey, x, ***",
    "AGENT_KVSTORE_OPT, a=b, ***",
    "AGENT_LOG_OPT, a=b, ***",
    "PATH, /usr/bin, /usr/bin",
    "HTTP_PROXY, http://me:word@proxy:80/, http://***@proxy:80/",
    "HTTPS_PROXY, http://proxy:80/, http://proxy:80/",
    "MAIL, me@example.org, me@example.org"
  })
  void shouldMaskWhatMayBeSecret(String name, String value, String shown) {
    assertEquals(shown, SecretNames.masked(name, value));
  }

  @Test
  void shouldExpandTheNameOfTheConfigurationFile() {
    assertEquals(
        "/home/me/agent.yaml",
        OptionValues.read(List.of(), Map.of("HOME", "/home/me")).configFile());
    assertEquals("", OptionValues.read(List.of(), Map.of()).configFile());
  }
}
