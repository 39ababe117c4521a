package agent.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyVerdict;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import agent.maps.layout.RedirectKind;
import agent.policy.request.Expression;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpRule;
import agent.policy.request.HttpVerdict.Action;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.resolve.RequestSection;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.resolve.ResolvedPolicyCodec;
import agent.policy.rule.NamePattern;
import agent.policy.rule.PortMatch;
import agent.policy.rule.RequestRules;
import agent.types.IpAddress;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A copy says of requests what the policies say that it is made of. */
class PolicyCopyTest {
  private static final IpAddress CLIENT = IpAddress.parse("10.1.0.1");
  private static final IpAddress SERVER = IpAddress.parse("fd00::2");
  private static final List<String> TEXTS =
      List.of("GET", "POST|PUT", "/a.*", "/a[0-9]+", "b.test");
  private static final List<String> NAMES =
      List.of("*", "**.example.com", "www.example.com", "w*.example.org");

  private final Random random = new Random(7);
  private final PublishedPolicies policies = new PublishedPolicies();
  private final PolicyCopy copy = new PolicyCopy();

  /** Passes on what is published, as another process gets it. */
  private final PolicyFeed.Follower follower =
      new PolicyFeed.Follower() {
        @Override
        public void onPublished(long revision, Map<Integer, ResolvedPolicy> changed) {
          changed.forEach((id, policy) -> pass(id, policy));
          copy.commit(revision);
        }

        @Override
        public void onRemoved(int endpointId) {
          copy.remove(endpointId);
        }
      };

  private void pass(int id, ResolvedPolicy policy) {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      ResolvedPolicyCodec.write(new DataOutputStream(bytes), policy);
      final DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
      copy.read(List.of(id), in);
      assertEquals(0, in.available());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private record Request(String method, String path, String host) implements HttpRequest {
    @Override
    public String authority() {
      return host + ":8080";
    }

    @Override
    public boolean hasHeader(String name, String value) {
      return name.equals("x") && (value == null || value.equals("1"));
    }

    @Override
    public boolean hasHeaderLine(String name, String value) {
      return hasHeader(name, value);
    }
  }

  private <T> T one(List<T> values) {
    return values.get(random.nextInt(values.size()));
  }

  private Expression expression() {
    return random.nextInt(3) == 0
        ? null
        : Expression.parse("field", one(TEXTS), random.nextBoolean());
  }

  private HttpRule rule() {
    return new HttpRule(
        expression(),
        expression(),
        expression(),
        random.nextBoolean()
            ? List.of()
            : List.of(new HttpRule.Header("x", one(List.of("1", "2"))), any()),
        random.nextBoolean()
            ? List.of()
            : List.of(new HeaderChange(one(List.of(Action.values())), "x", "2")));
  }

  private static HttpRule.Header any() {
    return new HttpRule.Header("x", null);
  }

  private RequestSection section(PolicyDirection direction) {
    final RedirectKind kind = one(List.of(RedirectKind.HTTP, RedirectKind.DNS));
    return new RequestSection(
        direction,
        random.nextBoolean() ? null : List.of(100 + random.nextInt(3), 101),
        List.of(PortMatch.of(6, 80), new PortMatch(17, 32, 60)),
        kind == RedirectKind.HTTP
            ? new RequestRules(kind, List.of(rule(), rule()), List.of())
            : new RequestRules(kind, List.of(), List.of(NamePattern.parse("pattern", one(NAMES)))));
  }

  private ResolvedPolicy policy() {
    final List<PolicyEntry> entries = new ArrayList<>();
    for (final PolicyDirection direction : PolicyDirection.values()) {
      for (final int identity : List.of(0, 100, 101, 102)) {
        final PolicyVerdict verdict =
            one(
                List.of(
                    PolicyVerdict.ALLOW,
                    PolicyVerdict.DENY,
                    PolicyVerdict.redirect(RedirectKind.HTTP),
                    PolicyVerdict.redirect(RedirectKind.DNS)));
        if (random.nextBoolean()) {
          entries.add(new PolicyEntry(identity, direction, 6, 80, PolicyPrefix.PORT, verdict));
        }
        if (random.nextBoolean()) {
          entries.add(new PolicyEntry(identity, direction, 17, 32, 60, verdict));
        }
      }
    }
    entries.sort(null);
    return new ResolvedPolicy(
        1,
        100,
        entries,
        null,
        null,
        Set.of(),
        Set.of(),
        List.of(section(PolicyDirection.EGRESS), section(PolicyDirection.INGRESS)));
  }

  private RedirectedFlow flow() {
    final boolean isTcp = random.nextBoolean();
    return new RedirectedFlow(
        isTcp ? 6 : 17,
        CLIENT,
        4000,
        100 + random.nextInt(4),
        random.nextInt(4),
        SERVER,
        isTcp ? 80 : 32 + random.nextInt(18),
        100 + random.nextInt(4),
        random.nextInt(4));
  }

  /** Returns how many of the questions were answered with yes. */
  private int compare() {
    int yes = 0;
    for (int i = 0; i < 300; i++) {
      final RedirectedFlow flow = flow();
      final Request request =
          new Request(
              one(List.of("GET", "get", "PUT")),
              one(List.of("/a", "/a12", "/b", "/A1")),
              one(List.of("b.test", "B.test", "c.test")));
      assertEquals(policies.http(flow, request), copy.policies().http(flow, request));
      final String name = one(List.of("www.example.com", "a.b.example.com", "x.example.org"));
      assertEquals(policies.dns(flow, name), copy.policies().dns(flow, name));
      assertEquals(policies.admits(flow), copy.policies().admits(flow));
      for (final PolicyDirection direction : PolicyDirection.values()) {
        assertEquals(policies.redirect(flow, direction), copy.policies().redirect(flow, direction));
      }
      yes += policies.http(flow, request).allowed() ? 1 : 0;
      yes += policies.dns(flow, name) ? 1 : 0;
    }
    assertEquals(policies.revision(), copy.policies().revision());
    return yes;
  }

  @Test
  void shouldSayOfRequestsWhatThePoliciesSay() {
    policies.publish(4, Map.of(1, policy()));
    policies.follow(follower);
    int yes = compare();
    for (int round = 0; round < 200; round++) {
      if (random.nextInt(4) == 0) {
        policies.remove(1 + random.nextInt(3));
      } else {
        policies.publish(round, Map.of(1 + random.nextInt(3), policy()));
      }
      yes += compare();
    }
    assertTrue(yes > 1_000, "allowed: " + yes);
    policies.unfollow(follower);
    policies.publish(1_000, Map.of());
    assertEquals(1_000, policies.revision());
    assertTrue(copy.policies().revision() < 1_000);
  }

  @Test
  void shouldTakeNothingBeforeAllOfAChangeIsThere() {
    final PublishedPolicies source = new PublishedPolicies();
    source.publish(5, Map.of(1, policy()));
    pass(1, policy());
    assertEquals(0, copy.policies().revision());
    assertFalse(copy.policies().admits(flowOf(1)));
    copy.commit(6);
    assertEquals(6, copy.policies().revision());
  }

  private static RedirectedFlow flowOf(int endpoint) {
    return new RedirectedFlow(6, CLIENT, 1, 100, endpoint, SERVER, 80, 101, 0);
  }

  @Test
  void shouldLetAnEndpointAskForNamesOfItsOwnRulesAlone() {
    policies.publish(1, Map.of(1, dns(PolicyDirection.EGRESS), 2, dns(PolicyDirection.INGRESS)));
    assertTrue(policies.mayAsk(1, "www.example.com"));
    assertFalse(policies.mayAsk(1, "www.example.org"));
    assertFalse(policies.mayAsk(2, "www.example.com"), "it answers, and does not ask");
    assertFalse(policies.mayAsk(3, "www.example.com"), "there is no such endpoint");
    assertTrue(policies.mayAsk(0, "www.example.com"), "from outside, of endpoint 2");
    policies.remove(2);
    assertFalse(policies.mayAsk(0, "www.example.com"));
  }

  private static ResolvedPolicy dns(PolicyDirection direction) {
    final RequestRules rules =
        new RequestRules(
            RedirectKind.DNS, List.of(), List.of(NamePattern.parse("pattern", "*.example.com")));
    return new ResolvedPolicy(
        1,
        100,
        List.of(),
        null,
        null,
        Set.of(),
        Set.of(),
        List.of(new RequestSection(direction, null, List.of(PortMatch.of(17, 53)), rules)));
  }
}
