package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.IdentityDirectory.IdentityListener;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LocalCidrIdentityAllocatorTest {
  private final LocalCidrIdentityAllocator identities = new LocalCidrIdentityAllocator();
  private final List<String> heard = new ArrayList<>();

  private void listen() {
    identities.addListener(
        new IdentityListener() {
          @Override
          public void onIdentityAdded(Identity identity) {
            heard.add("+" + identity.id());
          }

          @Override
          public void onIdentityRemoved(Identity identity) {
            heard.add("-" + identity.id());
          }
        });
  }

  @Test
  void shouldNumberCidrsFromTwoToThe24th() {
    listen();
    final Prefix prefix = Prefix.parse("2001:db8::/32");
    final Identity identity = identities.acquire(prefix);
    assertEquals(1 << 24, identity.id());
    assertEquals(List.of("cidr:2001:db8::/32", "reserved:world"), identity.labels().toStrings());
    assertEquals(Optional.of(prefix), identity.cidr());
    assertEquals(identity, identities.acquire(prefix));
    assertFalse(identities.release(identity.id()));
    assertEquals(Optional.of(identity), identities.find(prefix));
    assertTrue(identities.release(identity.id()));
    assertEquals(Optional.empty(), identities.find(prefix));
    assertEquals(List.of("+16777216", "-16777216"), heard);
  }

  @Test
  void shouldTakeTheWorldForTheCidrOfLengthZero() {
    listen();
    assertEquals(9, identities.acquire(Prefix.ALL_IPV4).id());
    assertEquals(10, identities.acquire(Prefix.ALL_IPV6).id());
    assertTrue(identities.release(9));
    assertEquals(List.of(), heard);
    assertEquals(ReservedIdentity.identities(), identities.list());
  }

  @Test
  void shouldRestoreNumbersAndRefuseContradictions() {
    final Prefix prefix = Prefix.parse("10.0.0.0/8");
    final int number = 1 << 24 | 7;
    assertEquals(number, identities.restore(number, prefix).id());
    assertEquals(number + 1, identities.acquire(Prefix.parse("11.0.0.0/8")).id());
    assertRefused(Refusal.Kind.CONFLICT, number, "12.0.0.0/8");
    assertRefused(Refusal.Kind.CONFLICT, number + 5, "10.0.0.0/8");
    assertRefused(Refusal.Kind.INVALID, 300, "13.0.0.0/8");
    assertEquals(
        Refusal.Kind.NOT_FOUND,
        assertThrows(Refusal.class, () -> identities.release(number + 5)).kind());
  }

  private void assertRefused(Refusal.Kind kind, int number, String cidr) {
    final Prefix prefix = Prefix.parse(cidr);
    assertEquals(
        kind, assertThrows(Refusal.class, () -> identities.restore(number, prefix)).kind());
  }

  @Test
  void shouldBeReadTogetherWithTheIdentitiesOfEndpoints() {
    final LocalIdentityAllocator endpoints = new LocalIdentityAllocator();
    final IdentityDirectory both = IdentityDirectory.union(endpoints, identities);
    both.addListener(
        new IdentityListener() {
          @Override
          public void onIdentityAdded(Identity identity) {
            heard.add("+" + identity.id());
          }

          @Override
          public void onIdentityRemoved(Identity identity) {}
        });
    final Identity cidr = identities.acquire(Prefix.parse("10.0.0.0/8"));
    final Identity web = endpoints.acquire(LabelSet.of(Label.parse("app=web"))).join();
    final List<Identity> expected = new ArrayList<>(ReservedIdentity.identities());
    expected.add(web);
    expected.add(cidr);
    assertEquals(expected, both.list());
    assertEquals(Optional.of(cidr), both.find(cidr.id()));
    assertEquals(Optional.of(web), both.find(web.id()));
    assertEquals(Optional.of(ReservedIdentity.HOST.identity()), both.find(1));
    assertEquals(List.of("+16777216", "+256"), heard);
  }
}
