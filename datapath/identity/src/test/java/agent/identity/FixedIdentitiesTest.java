package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Refusal;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FixedIdentitiesTest {
  private static final FixedIdentities FIXED =
      FixedIdentities.parse(Map.of("128", "dns", "255", "store"));

  private static LabelSet labels(String... texts) {
    return LabelSet.parse("labels", List.of(texts));
  }

  private static LabelSet identityOf(String... texts) {
    return LabelFilter.of(Optional.empty(), List.of(), FIXED).split(labels(texts)).identity();
  }

  @Test
  void shouldGiveTheChosenNumberToWhoAsksForItsName() {
    final LocalIdentityAllocator identities = new LocalIdentityAllocator(FIXED);
    final LabelSet asked = identityOf("k8s:fixed-identity=dns", "app=web");
    assertEquals(labels("reserved:dns"), asked);
    assertEquals(128, identities.acquire(asked).join().id());
    assertEquals(128, identities.restore(128, asked).join().id());
    assertEquals(255, identities.acquire(identityOf("fixed-identity=store")).join().id());
    assertEquals(256, identities.acquire(identityOf("app=web")).join().id());
  }

  @Test
  void shouldKeepTheLabelOfANameThatIsNotMapped() {
    assertEquals(
        labels("app=web", "fixed-identity=other"), identityOf("app=web", "fixed-identity=other"));
    assertEquals(
        labels("fixed-identity=dns"),
        LabelFilter.defaults().split(labels("fixed-identity=dns")).identity());
  }

  @Test
  void shouldListThemBeforeAnEndpointHasOne() {
    final LocalIdentityAllocator identities = new LocalIdentityAllocator(FIXED);
    assertEquals(Optional.of(labels("reserved:dns")), identities.find(128).map(Identity::labels));
    assertEquals(Optional.of(255), identities.find(labels("reserved:store")).map(Identity::id));
    assertTrue(identities.list().contains(new Identity(128, labels("reserved:dns"))));
    assertEquals(Optional.empty(), identities.find(129));
    assertTrue(identities.find(128).orElseThrow().isFixed());
  }

  @Test
  void shouldStayWhenTheLastEndpointGoes() {
    final LocalIdentityAllocator identities = new LocalIdentityAllocator(FIXED);
    identities.acquire(labels("reserved:dns")).join();
    assertTrue(identities.release(128).join());
    assertEquals(128, identities.acquire(labels("reserved:dns")).join().id());
  }

  @ParameterizedTest
  @CsvSource({"127,dns", "256,dns", "x,dns", "-128,dns", "128,host", "128,''", "128,a=b"})
  void shouldRefuseWhatIsNotFree(String number, String name) {
    final Refusal refusal =
        assertThrows(Refusal.class, () -> FixedIdentities.parse(Map.of(number, name)));
    assertTrue(refusal.getMessage().startsWith("fixed-identity-mapping: "), refusal.getMessage());
  }

  @Test
  void shouldRefuseANameWithTwoNumbers() {
    assertThrows(Refusal.class, () -> FixedIdentities.parse(Map.of("128", "dns", "129", "dns")));
  }
}
