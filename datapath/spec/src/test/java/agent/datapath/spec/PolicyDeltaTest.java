package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.NaivePolicyMap.Question;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import agent.maps.layout.RedirectKind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * The two parts of a change of a policy map: random contents, and all questions, against a naive
 * model. {@code -Drandom.seed} repeats a run.
 */
class PolicyDeltaTest {
  private static final long SEED = Long.getLong("random.seed", 20261122L);
  private static final int PAIRS = Integer.getInteger("random.pairs", 800);
  private static final int TCP = 6;
  private static final int[] IDENTITIES = {0, 5, 6};
  private static final int[] PROTOCOLS = {TCP, 17};
  private static final int PORT_BITS = 3;

  private final Random random = new Random(SEED);

  /** An old content, a new one, and the change between them. */
  private record Pair(List<PolicyEntry> before, List<PolicyEntry> after, PolicyDelta delta) {
    NaivePolicyMap old() {
      return new NaivePolicyMap(before);
    }

    NaivePolicyMap present() {
      return new NaivePolicyMap(after);
    }

    boolean bothAllow(Question question) {
      return old().allows(question) && present().allows(question);
    }

    @Override
    public String toString() {
      return "seed " + SEED + ": from " + before + " to " + after;
    }
  }

  private Pair pair() {
    final List<PolicyEntry> before = content(random.nextInt(8));
    final List<PolicyEntry> after = content(random.nextInt(8));
    before.stream()
        .filter(entry -> random.nextInt(3) == 0 && after.stream().noneMatch(entry::equals))
        .forEach(after::add);
    final List<PolicyEntry> normal = normal(after);
    return new Pair(before, normal, PolicyDelta.between(before, normal));
  }

  private void forEachPair(Consumer<Pair> test) {
    for (int i = 0; i < PAIRS; i++) {
      test.accept(pair());
    }
  }

  private List<PolicyEntry> content(int size) {
    final List<PolicyEntry> entries = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      entries.add(entry());
    }
    return normal(entries);
  }

  private PolicyEntry entry() {
    final int identity = IDENTITIES[random.nextInt(IDENTITIES.length)];
    final PolicyDirection direction = PolicyDirection.values()[random.nextInt(2)];
    final PolicyVerdict verdict =
        switch (random.nextInt(8)) {
          case 0, 1 -> PolicyVerdict.DENY;
          case 2 -> PolicyVerdict.ALLOW.audited();
          default -> PolicyVerdict.ALLOW;
        };
    final int kind = random.nextInt(6);
    if (kind == 0) {
      return new PolicyEntry(identity, direction, 0, 0, PolicyPrefix.IDENTITY, verdict);
    }
    final int protocol = PROTOCOLS[random.nextInt(PROTOCOLS.length)];
    if (kind == 1) {
      return new PolicyEntry(identity, direction, protocol, 0, PolicyPrefix.PROTOCOL, verdict);
    }
    final int open = random.nextInt(PORT_BITS + 1);
    final int port = random.nextInt(1 << PORT_BITS) >>> open << open;
    return new PolicyEntry(identity, direction, protocol, port, PolicyPrefix.PORT - open, verdict);
  }

  /** One entry a key, and no allow below a deny of the identity or of any. */
  private static List<PolicyEntry> normal(List<PolicyEntry> entries) {
    final Map<PolicyEntry.Key, PolicyEntry> byKey = new LinkedHashMap<>();
    entries.forEach(entry -> byKey.put(entry.key(), entry));
    final List<PolicyEntry> normal = new ArrayList<>(byKey.values());
    normal.removeIf(
        entry ->
            !entry.isDeny()
                && byKey.values().stream()
                    .anyMatch(other -> other.isDeny() && NaivePolicyMap.isBelow(entry, other)));
    return normal;
  }

  private static List<Question> questions() {
    final List<Question> questions = new ArrayList<>();
    for (final PolicyDirection direction : PolicyDirection.values()) {
      for (int identity = 5; identity <= 7; identity++) {
        for (final int protocol : new int[] {1, TCP, 17}) {
          for (int port = 0; port <= 1 << PORT_BITS; port++) {
            questions.add(new Question(identity, direction, protocol, port));
          }
        }
      }
    }
    return questions;
  }

  @Test
  void shouldAllowBetweenTheTwoPartsWhatBothContentsAllow() {
    final List<Question> questions = questions();
    forEachPair(
        pair -> {
          final NaivePolicyMap map = pair.old();
          map.write(pair.delta().closing(), () -> {});
          for (final Question question : questions) {
            assertEquals(pair.bothAllow(question), map.allows(question), question + " " + pair);
          }
          map.write(pair.delta().opening(), () -> {});
          assertEquals(pair.present().entries(), map.entries(), pair.toString());
        });
  }

  @Test
  void shouldAllowNeitherMoreNorLessAtEachSingleWrite() {
    final List<Question> questions = questions();
    final int[] writes = new int[1];
    forEachPair(
        pair -> {
          final NaivePolicyMap map = pair.old();
          for (final boolean isClosing : new boolean[] {true, false}) {
            final NaivePolicyMap most = isClosing ? pair.old() : pair.present();
            map.write(
                isClosing ? pair.delta().closing() : pair.delta().opening(),
                () -> {
                  writes[0]++;
                  for (final Question question : questions) {
                    final boolean isAllowed = map.allows(question);
                    assertTrue(!isAllowed || most.allows(question), question + " " + pair);
                    assertTrue(isAllowed || !pair.bothAllow(question), question + " " + pair);
                  }
                });
          }
        });
    assertTrue(writes[0] > PAIRS);
  }

  @Test
  void shouldTellTheDirectionsThatCloseAndOpen() {
    final List<Question> questions = questions();
    final int[] one = new int[1];
    forEachPair(
        pair -> {
          final NaivePolicyMap old = pair.old();
          final NaivePolicyMap present = pair.present();
          for (final Question question : questions) {
            final int direction = 1 << question.direction().number();
            if (old.allows(question) && !present.allows(question)) {
              assertEquals(direction, pair.delta().closes() & direction, question + " " + pair);
            }
            if (present.allows(question) && !old.allows(question)) {
              assertEquals(direction, pair.delta().opens() & direction, question + " " + pair);
            }
          }
          one[0] += pair.delta().closes() == 0 || pair.delta().opens() == 0 ? 1 : 0;
        });
    assertTrue(one[0] > PAIRS / 10, "changes that need one round: " + one[0]);
  }

  /** A program reads the entry of the identity, then that of any identity. */
  @Test
  void shouldTellWhereOldAndNewEntriesTogetherAllowMore() {
    final List<Question> questions = questions();
    final int[] torn = new int[1];
    forEachPair(
        pair -> {
          final NaivePolicyMap old = pair.old();
          final NaivePolicyMap present = pair.present();
          for (final Question question : questions) {
            final boolean mixed =
                NaivePolicyMap.isAllowed(
                    old.longest(question.identity(), question), present.longest(0, question));
            if (mixed && !old.allows(question) && !present.allows(question)) {
              assertTrue(pair.delta().isTorn(), question + " " + pair);
            }
          }
          torn[0] += pair.delta().isTorn() ? 1 : 0;
        });
    assertTrue(torn[0] > 0 && torn[0] < PAIRS / 2, "torn: " + torn[0]);
  }

  @Test
  void shouldTellHowManyEntriesTheMapHoldsMeanwhile() {
    forEachPair(
        pair -> {
          final NaivePolicyMap map = pair.old();
          final int[] most = {pair.before().size()};
          final Runnable count = () -> most[0] = Math.max(most[0], map.entries().size());
          map.write(pair.delta().closing(), count);
          map.write(pair.delta().opening(), count);
          assertEquals(pair.before().size() + pair.delta().growth(), most[0], pair.toString());
        });
  }

  @Test
  void shouldAllowNothingBetweenTheTwoPartsOfAChangeWithoutRoom() {
    final List<Question> questions = questions();
    forEachPair(
        pair -> {
          final PolicyDelta delta = pair.delta().throughClosed(pair.before(), pair.after());
          assertEquals(pair.delta(), delta);
          final NaivePolicyMap map = pair.old();
          final int room = Math.max(pair.before().size(), pair.after().size());
          final Runnable check = () -> assertTrue(map.entries().size() <= room, pair.toString());
          map.write(delta.closing(), check);
          for (final Question question : questions) {
            assertFalse(map.allows(question), question + " " + pair);
          }
          map.write(delta.opening(), check);
          assertEquals(pair.present().entries(), map.entries(), pair.toString());
        });
  }

  private static PolicyEntry allow(int identity, int port) {
    return PolicyEntry.allow(identity, PolicyDirection.INGRESS, TCP, port);
  }

  @Test
  void shouldHaveOnePartWhereAChangeOnlyClosesOrOnlyOpens() {
    final List<PolicyEntry> few = List.of(allow(5, 80));
    final List<PolicyEntry> more = List.of(allow(5, 80), allow(0, 81));
    final PolicyDelta opening = PolicyDelta.between(few, more);
    assertTrue(opening.closing().isEmpty());
    assertEquals(opening, opening.opening());
    assertEquals(0, opening.closes());
    final PolicyDelta closing = PolicyDelta.between(more, few);
    assertTrue(closing.opening().isEmpty());
    assertEquals(closing, closing.closing());
    assertEquals(0, closing.opens());
    assertEquals(PolicyDelta.NONE, PolicyDelta.between(more, more));
  }

  /** A rule is narrowed from all peers to one: nothing opens, so that one round is enough. */
  @Test
  void shouldOnlyCloseWhereARuleIsNarrowed() {
    final PolicyDelta delta =
        PolicyDelta.between(
            List.of(PolicyEntry.allowAll(0, PolicyDirection.INGRESS)), List.of(allow(5, 80)));
    assertEquals(delta, delta.closing());
    assertEquals(1, delta.closes());
    assertEquals(0, delta.opens());
    assertTrue(delta.opening().isEmpty());
    assertFalse(delta.isTorn());
  }

  @Test
  void shouldNarrowAnAllowOfAnyIdentityToTheIdentitiesThatMayMore() {
    final PolicyEntry all = PolicyEntry.allowAll(5, PolicyDirection.INGRESS);
    final PolicyDelta delta = PolicyDelta.between(List.of(allow(0, 80)), List.of(all));
    assertEquals(new PolicyDelta(List.of(allow(5, 80)), List.of(allow(0, 80))), delta.closing());
    assertEquals(new PolicyDelta(List.of(all), List.of(allow(5, 80))), delta.opening());
    assertEquals(1, delta.growth());
  }

  /** Port 0 and the whole protocol begin at the same port. */
  @Test
  void shouldNotKeepAnAllowThatIsWiderThanThatOfTheIdentity() {
    final PolicyEntry wide =
        new PolicyEntry(0, PolicyDirection.INGRESS, TCP, 0, 48, PolicyVerdict.ALLOW);
    final PolicyEntry deny =
        new PolicyEntry(5, PolicyDirection.INGRESS, TCP, 0, 64, PolicyVerdict.DENY);
    final PolicyDelta delta = PolicyDelta.between(List.of(wide, deny), List.of(allow(5, 0)));
    assertEquals(new PolicyDelta(List.of(), List.of(wide)), delta.closing());
    assertEquals(new PolicyDelta(List.of(allow(5, 0)), List.of()), delta.opening());
  }

  @Test
  void shouldLeaveAnIntersectionThatNoMapCanHold() {
    final List<PolicyEntry> ofAny = new ArrayList<>();
    final List<PolicyEntry> ofOne = new ArrayList<>();
    for (int i = 1; i <= 400; i++) {
      ofAny.add(allow(0, i));
      ofOne.add(PolicyEntry.allowAll(i, PolicyDirection.INGRESS));
    }
    assertEquals(Integer.MAX_VALUE, PolicyDelta.between(ofAny, ofOne).growth());
    assertEquals(Integer.MAX_VALUE, PolicyDelta.between(ofOne, ofAny).growth());
  }

  @Test
  void shouldNameTheProxiesThatItsNewEntriesSendFlowsTo() {
    final PolicyEntry allow = PolicyEntry.allow(5, PolicyDirection.EGRESS, TCP, 80);
    final PolicyEntry http = to(RedirectKind.HTTP, 81);
    final PolicyEntry dns = to(RedirectKind.DNS, 53);
    assertEquals(Set.of(), PolicyDelta.NONE.redirects());
    assertEquals(Set.of(), PolicyDelta.between(List.of(http), List.of(allow)).redirects());
    final PolicyDelta one = PolicyDelta.between(List.of(dns), List.of(allow, http, dns));
    assertEquals(Set.of(RedirectKind.HTTP), one.redirects(), "of what is new");
    final PolicyDelta both = PolicyDelta.between(List.of(allow), List.of(http, dns));
    assertEquals(Set.of(RedirectKind.HTTP, RedirectKind.DNS), both.redirects());
    assertEquals(
        Set.of(RedirectKind.HTTP, RedirectKind.DNS),
        both.throughClosed(List.of(allow), List.of(http, dns)).redirects());
  }

  private static PolicyEntry to(RedirectKind kind, int port) {
    return new PolicyEntry(
        5, PolicyDirection.EGRESS, TCP, port, PolicyPrefix.PORT, PolicyVerdict.redirect(kind));
  }

  @Test
  void shouldTellWhetherItOnlyAddsEntriesOfSomeIdentities() {
    final PolicyEntry first = PolicyEntry.allow(7, PolicyDirection.EGRESS, 6, 443);
    final PolicyEntry second = PolicyEntry.allow(8, PolicyDirection.EGRESS, 6, 443);
    final PolicyDelta delta = new PolicyDelta(List.of(first, second), List.of());
    assertTrue(delta.isOnly(Set.of(7, 8, 9)));
    assertFalse(delta.isOnly(Set.of(7)));
    assertFalse(delta.isOnly(Set.of()));
    assertFalse(new PolicyDelta(List.of(first), List.of(second)).isOnly(Set.of(7, 8)));
  }
}
