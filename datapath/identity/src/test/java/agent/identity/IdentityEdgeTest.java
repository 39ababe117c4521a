package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The edges of the ranges of numbers (decisions.md, section 5), of labels and of filters. */
class IdentityEdgeTest {
  @ParameterizedTest
  @CsvSource({
    "0, false, false, false",
    "1, true, false, false",
    "255, true, false, false",
    "256, false, true, false",
    "65535, false, true, false",
    "65536, false, false, false",
    "16777215, false, false, false",
    "16777216, false, false, true"
  })
  void shouldKnowTheRangeOfANumber(int id, boolean reserved, boolean cluster, boolean local) {
    final Identity identity = new Identity(id, LabelSet.parse("labels", List.of("a")));
    assertEquals(reserved, identity.isReserved(), "reserved");
    assertEquals(cluster, identity.isCluster(), "cluster");
    assertEquals(local, identity.isLocal(), "local");
  }

  @Test
  void shouldTellTheCidrOfALocalIdentityOnly() {
    final LabelSet labels = LabelSet.parse("labels", List.of("a", "cidr:10.0.0.0/8", "z"));
    final int local = Identity.LOCAL_MIN;
    assertEquals(Optional.of(Prefix.parse("10.0.0.0/8")), new Identity(local, labels).cidr());
    assertEquals(Optional.empty(), new Identity(local - 1, labels).cidr());
    final LabelSet without = LabelSet.parse("labels", List.of("a"));
    assertEquals(Optional.empty(), new Identity(local, without).cidr());
  }

  @Test
  void shouldFindTheReservedIdentitiesByTheirNumbersOnly() {
    final List<String> names =
        List.of(
            "host",
            "world",
            "unmanaged",
            "health",
            "init",
            "remote-node",
            "orch-apiserver",
            "ingress",
            "world-ipv4",
            "world-ipv6");
    for (int id = 1; id <= names.size(); id++) {
      final Identity identity = ReservedIdentity.of(id).orElseThrow().identity();
      assertEquals(id, identity.id());
      assertEquals(
          "reserved:" + names.get(id - 1), identity.labels().toStrings().getFirst(), "id " + id);
    }
    assertEquals(Optional.empty(), ReservedIdentity.of(0));
    assertEquals(Optional.empty(), ReservedIdentity.of(names.size() + 1));
    assertEquals(9, ReservedIdentity.world(true).identity().id());
    assertEquals(10, ReservedIdentity.world(false).identity().id());
    assertEquals("reserved:host", Label.reserved("host").toString());
  }

  @Test
  void shouldTakeALabelOfTheGreatestLength() {
    final String value = "v".repeat(1024 - "unspec".length() - "key".length());
    assertEquals(value, Label.parse("key=" + value).value());
    assertRefused("label is longer than 1024 characters", "key=" + value + "v");
    assertRefused("label is longer than 1024 characters", "key" + "k".repeat(1020) + "=" + value);
  }

  @Test
  void shouldSayWhatIsWrongWithALabel() {
    assertRefused("'unspec:=x' is not a valid label: the key is missing", "=x");
    assertRefused("':app=x' is not a valid label: '' is not a valid source", ":app=x");
    assertRefused("':app' is not a valid label: '' is not a valid source", ":app");
    for (final String source : new String[] {":", "=", "a:b", "a="}) {
      final Refusal refusal =
          assertThrows(Refusal.class, () -> new Label(source, "key", ""), source);
      assertTrue(refusal.getMessage().endsWith("'" + source + "' is not a valid source"), source);
    }
    for (final String key : new String[] {"=", "=a", "a="}) {
      final Refusal refusal = assertThrows(Refusal.class, () -> new Label("s", key, ""), key);
      assertTrue(refusal.getMessage().endsWith("the key contains '='"), refusal.getMessage());
    }
  }

  private static void assertRefused(String message, String text) {
    assertEquals(
        message, assertThrows(Refusal.class, () -> Label.parse(text), text).getMessage(), text);
  }

  @Test
  void shouldNameTheLabelOfAListThatIsWrong() {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> LabelSet.parse("labels", List.of("a", "b", "=")));
    assertEquals("labels[2]", refusal.field());
  }

  @Test
  void shouldSortLabelsBySourceThenKey() {
    final LabelSet labels =
        LabelSet.parse("labels", List.of("z:a", "a:z", "a:b=2", "m:m", "a:a=9"));
    assertEquals(List.of("a:a=9", "a:b=2", "a:z", "m:m", "z:a"), labels.toStrings());
    assertTrue(labels.toString().contains("a:b=2"), labels.toString());
    assertNotNull(LabelSet.of(List.of()));
    assertEquals(List.of(), LabelSet.of(List.of()).toStrings());
  }

  /** An exclusion that is as long as an inclusion wins. */
  @Test
  void shouldExcludeWhereAnInclusionIsOfTheSameLength() {
    assertFalse(counts("app=1", "app", "!app"));
    assertFalse(counts("app=1", "!app", "app"));
    assertTrue(counts("app=1", "app", "!ap"));
    assertFalse(counts("app=1", "ap", "!app"));
    assertTrue(counts("app=1", "k8s:x", "app"));
    assertFalse(counts("app=1", "k8s:x"));
  }

  private static boolean counts(String label, String... entries) {
    return !LabelFilter.of(List.of(entries))
        .split(LabelSet.parse("labels", List.of(label)))
        .identity()
        .toStrings()
        .isEmpty();
  }

  @Test
  void shouldGiveEveryNumberOfARangeOnceAndAgainAfterItIsFree() {
    final NumberRange range = new NumberRange("numbers", 5, 8);
    assertEquals(List.of(5, 6, 7, 8), numbers(range, 4));
    assertThrows(Refusal.class, range::next);
    range.free(6);
    range.free(5);
    assertEquals(5, range.next(), "after the last number the range begins again");
    assertEquals(6, range.next());
    assertThrows(Refusal.class, range::next);
  }

  private static List<Integer> numbers(NumberRange range, int count) {
    return IntStream.range(0, count).mapToObj(i -> range.next()).toList();
  }

  @Test
  void shouldTakeTheFirstAndTheLastNumberOfARangeAndGoOnAfterIt() {
    final NumberRange range = new NumberRange("numbers", 5, 8);
    assertThrows(Refusal.class, () -> range.take(4));
    assertThrows(Refusal.class, () -> range.take(9));
    range.take(6);
    assertEquals(7, range.next());
    range.take(5);
    assertEquals(8, range.next(), "a lower number does not lead back");
    assertThrows(Refusal.class, range::next);
    range.free(8);
    range.take(8);
    range.free(5);
    assertEquals(5, range.next());
  }

  @Test
  void shouldKeepAnIdentityUntilItsLastReferenceIsReleased() {
    final LocalIdentityAllocator identities = new LocalIdentityAllocator();
    final LabelSet labels = LabelSet.parse("labels", List.of("app=a"));
    identities.restore(300, labels).join();
    assertEquals(300, identities.acquire(labels).join().id());
    assertFalse(identities.release(300).join(), "it was not the last reference");
    assertEquals(1, identities.inUse().size());
    assertTrue(identities.release(300).join(), "it was the last reference");
    assertEquals(0, identities.inUse().size());
    final LabelSet other = LabelSet.parse("labels", List.of("app=b"));
    assertEquals(300, identities.restore(300, other).join().id(), "the number is free");
  }

  @Test
  void shouldTellListenersOfARestoredIdentityOnce() {
    final List<String> heard = new ArrayList<>();
    final LocalIdentityAllocator identities = new LocalIdentityAllocator();
    identities.addListener(
        new IdentityDirectory.IdentityListener() {
          @Override
          public void onIdentityAdded(Identity identity) {
            heard.add("+" + identity.id());
          }

          @Override
          public void onIdentityRemoved(Identity identity) {
            heard.add("-" + identity.id());
          }
        });
    final LabelSet labels = LabelSet.parse("labels", List.of("app=a"));
    identities.restore(300, labels).join();
    assertEquals(List.of("+300"), heard);
    identities.restore(300, labels).join();
    assertEquals(List.of("+300"), heard);
  }
}
