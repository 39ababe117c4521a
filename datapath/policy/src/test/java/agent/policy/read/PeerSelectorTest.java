package agent.policy.read;

import static agent.policy.RuleSpecs.labels;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.Identity;
import agent.identity.LabelSet;
import agent.identity.LocalCidrIdentityAllocator;
import agent.identity.LocalIdentityAllocator;
import agent.identity.ReservedIdentity;
import agent.policy.rule.Entity;
import agent.policy.rule.LabelSelector;
import agent.policy.rule.PeerSelector;
import agent.policy.rule.PortMatch;
import agent.policy.spec.SelectorSpec;
import agent.policy.spec.SelectorSpec.ExpressionSpec;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which identities a peer selector selects, without an engine. */
class PeerSelectorTest {
  private final LocalCidrIdentityAllocator cidrs = new LocalCidrIdentityAllocator();
  private final Identity cidr4 = cidrs.acquire(Prefix.parse("1.2.3.0/24"));
  private final Identity cidr6 = cidrs.acquire(Prefix.parse("2001:db8::/32"));
  private final Identity web = identity("app=web", "tier=front");

  private static Identity identity(String... labels) {
    return new LocalIdentityAllocator().acquire(LabelSet.parse("l", List.of(labels))).join();
  }

  /** Returns the identities of every kind. */
  private List<Identity> everyKind() {
    final List<Identity> all = new ArrayList<>(ReservedIdentity.identities());
    all.addAll(List.of(web, cidr4, cidr6));
    return all;
  }

  private List<Integer> selected(PeerSelector selector) {
    return everyKind().stream().filter(selector::selects).map(Identity::id).toList();
  }

  @Test
  void shouldSelectByEntity() {
    final Map<String, List<Integer>> expected = new TreeMap<>();
    expected.put("all", everyKind().stream().map(Identity::id).toList());
    expected.put("world", List.of(2, 9, 10, cidr4.id(), cidr6.id()));
    expected.put("world-ipv4", List.of(2, 9, cidr4.id()));
    expected.put("world-ipv6", List.of(2, 10, cidr6.id()));
    expected.put("cluster", List.of(1, 3, 4, 5, 6, 7, 8, web.id()));
    expected.put("host", List.of(1));
    expected.put("unmanaged", List.of(3));
    expected.put("health", List.of(4));
    expected.put("init", List.of(5));
    expected.put("remote-node", List.of(6));
    expected.put("orch-apiserver", List.of(7));
    expected.put("none", List.of());
    assertEquals(expected.size(), Entity.values().length);
    expected.forEach(
        (name, ids) -> {
          final Entity entity = Entity.named(name).orElseThrow();
          assertEquals(ids, selected(entity), name);
          assertEquals(name, entity.text());
        });
    assertTrue(Entity.named("strangers").isEmpty());
  }

  private static LabelSelector expressions(ExpressionSpec... expressions) {
    return SelectorReader.read("s", new SelectorSpec(null, List.of(expressions)));
  }

  private static ExpressionSpec expression(String key, String operator, String... values) {
    return new ExpressionSpec(key, operator, values.length == 0 ? null : List.of(values));
  }

  @ParameterizedTest
  @CsvSource({
    "app, In, web, true",
    "app, In, db, false",
    "app, NotIn, db, true",
    "app, NotIn, web, false",
    "zone, NotIn, a, true",
    "tier, Exists, , true",
    "zone, Exists, , false",
    "zone, DoesNotExist, , true",
    "tier, DoesNotExist, , false"
  })
  void shouldSelectByExpression(String key, String operator, String value, boolean isSelected) {
    final ExpressionSpec expression =
        value == null ? expression(key, operator) : expression(key, operator, value);
    assertEquals(isSelected, expressions(expression).selects(web));
    assertEquals(isSelected, expressions(expression).selects(web.labels()));
  }

  @Test
  void shouldMeetEveryRequirement() {
    final ExpressionSpec one = expression("app", "In", "db", "web");
    final ExpressionSpec other = expression("tier", "Exists");
    assertTrue(expressions(one, other).selects(web));
    assertFalse(expressions(one, other, expression("zone", "Exists")).selects(web));
    assertFalse(expressions(expression("zone", "Exists"), one).selects(web));
    final SelectorSpec both =
        new SelectorSpec(Map.of("app", "web"), List.of(expression("tier", "In", "back")));
    assertFalse(SelectorReader.read("s", both).selects(web));
  }

  @Test
  void shouldBeTheSameSelectorWhateverTheOrderOfItsRequirements() {
    final List<ExpressionSpec> requirements =
        new ArrayList<>(
            List.of(
                expression("a", "Exists"),
                expression("b", "NotIn", "1", "2"),
                expression("c", "DoesNotExist"),
                expression("d", "In", "3", "4")));
    final LabelSelector selector = SelectorReader.read("s", new SelectorSpec(null, requirements));
    Collections.reverse(requirements);
    final LabelSelector reversed = SelectorReader.read("s", new SelectorSpec(null, requirements));
    assertEquals(selector, reversed);
    assertEquals(
        "any:a Exists, any:b NotIn (1, 2), any:c DoesNotExist, any:d In (3, 4)", selector.text());
    assertEquals(selector.text(), reversed.text());
    assertEquals(selector.text(), selector.toString());
    assertEquals("{}", LabelSelector.ALL.toString());
  }

  @Test
  void shouldRefuseExpressionsWhoseValuesDisagreeWithTheOperator() {
    assertRefused("s.matchExpressions[0].values", expression("app", "In"));
    assertRefused("s.matchExpressions[0].values", expression("app", "NotIn"));
    assertRefused("s.matchExpressions[0].values", expression("app", "Exists", "web"));
    assertRefused("s.matchExpressions[0].values", expression("app", "DoesNotExist", "web"));
    assertRefused("s.matchExpressions[0].operator", expression("app", "in", "web"));
    assertRefused("s.matchExpressions[0].operator", expression("app", null, "web"));
    assertRefused("s.matchExpressions[0].key", expression(null, "Exists"));
  }

  private static void assertRefused(String field, ExpressionSpec expression) {
    final Refusal refusal = assertThrows(Refusal.class, () -> expressions(expression));
    assertEquals(field, refusal.field(), refusal.getMessage());
  }

  /** Neither what a selector forbids nor what it requires makes it apply to the world or a node. */
  @Test
  void shouldSelectEndpointsAlone() {
    assertEquals(List.of(), selected(expressions(expression("reserved:host", "Exists"))));
    assertEquals(
        List.of(3, 4, 5, web.id()),
        selected(expressions(expression("reserved:host", "DoesNotExist"))));
    assertEquals(
        List.of(3, 4, 5, web.id()),
        selected(expressions(expression("reserved:host", "NotIn", "x"))));
    for (final String outside : List.of("reserved:world", "reserved:world-ipv6", "world")) {
      assertEquals(List.of(), selected(SelectorReader.read("s", labels(outside, ""))));
    }
    assertEquals(List.of(4), selected(SelectorReader.read("s", labels("reserved:health", ""))));
  }

  @Test
  void shouldOrderPortsByProtocolPortAndPrefixLength() {
    final List<PortMatch> ordered =
        List.of(
            PortMatch.ALL,
            PortMatch.ofProtocol(6),
            new PortMatch(6, 80, 60),
            new PortMatch(6, 80, 64),
            new PortMatch(6, 81, 64),
            new PortMatch(17, 53, 64));
    final List<PortMatch> shuffled = new ArrayList<>(ordered);
    Collections.reverse(shuffled);
    Collections.sort(shuffled);
    assertEquals(ordered, shuffled);
  }
}
