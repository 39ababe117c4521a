package agent.launcher.local;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.cli.call.LocalParts.RuleFault;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The paths are in the rule, and the reasons those of the agent. */
class RuleCheckerTest {
  private static final String SELECTOR = "\"endpointSelector\":{\"matchLabels\":{\"app\":\"web\"}}";

  @Test
  void shouldFindNothingInARightRule() {
    assertNull(
        RuleChecker.check(
            "{%s,\"ingress\":[{\"fromEntities\":[\"host\"],\"toPorts\":[{\"ports\":[{\"port\":80}]}]}]}"
                .formatted(SELECTOR)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "~\"ingress\":[{\"toPort\":[]}]~ | ingress[0].toPort | is not a known field",
        "~\"podSelector\":{}~ | podSelector | is not a known field",
        "~\"ingress\":[{\"fromCIDR\":[\"10.0.0.0/8\",\"10.0.0.0/33\"]}]~ | ingress[0].fromCIDR[1] | ~~",
        "~\"ingress\":[{\"fromEntities\":[\"wrld\"]}]~ | ingress[0].fromEntities[0] | 'wrld' is not a valid entity",
        "~\"ingress\":[{\"toPorts\":[{\"ports\":[{\"port\":\"80\",\"protocol\":\"TPC\"}]}]}]~ | ingress[0].toPorts[0].ports[0].protocol | 'TPC' is not one of TCP, UDP, SCTP, ANY, ICMP, ICMPv6, VRRP, IGMP",
        "~\"ingress\":[{\"toPorts\":[{\"ports\":[{}]}]}]~ | ingress[0].toPorts[0].ports[0].port | is missing",
        "~\"description\":5,\"ingress\":[{}]~ | description | ~~",
        "~\"ingress\":{}~ | ingress | ~~",
        "~\"description\":\"x\"~ | ~~ | the rule has none of ingress, egress, ingressDeny and egressDeny",
      })
  void shouldNameThePathAndTheReason(String members, String path, String reason) {
    final RuleFault fault = RuleChecker.check("{" + SELECTOR + "," + members + "}");
    assertEquals(path, fault.path());
    assertTrue(reason.isEmpty() || fault.reason().equals(reason), fault.reason());
    assertTrue(!fault.reason().isEmpty() && !fault.reason().contains("agent."), fault.reason());
  }

  @Test
  void shouldKnowWhatMayStandThere() {
    final RuleFault name = RuleChecker.check("{" + SELECTOR + ",\"ingres\":[]}");
    assertTrue(name.isName());
    assertTrue(name.known().containsAll(List.of("ingress", "endpointSelector", "labels")));
    final RuleFault entity =
        RuleChecker.check("{" + SELECTOR + ",\"egress\":[{\"toEntities\":[\"x\"]}]}");
    assertTrue(entity.known().containsAll(List.of("world", "orch-apiserver", "none")));
    final RuleFault operator =
        RuleChecker.check(
            "{\"endpointSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"in\",\"values\":[\"b\"]}]},\"ingress\":[]}");
    assertEquals("endpointSelector.matchExpressions[0].operator", operator.path());
    assertEquals(List.of("In", "NotIn", "Exists", "DoesNotExist"), operator.known());
  }

  @Test
  void shouldRefuseWhatIsNoRule() {
    assertEquals("an object is expected at line 1, column 2", RuleChecker.check("5").reason());
    assertEquals("", RuleChecker.check("5").path());
    assertTrue(
        RuleChecker.check("null").reason().contains("null")
            || RuleChecker.check("null").reason().contains("missing"));
  }
}
