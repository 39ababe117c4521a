package agent.identity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.identity.IdentityDirectory.IdentityInUse;
import agent.types.Refusal;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Runs the contract on the test double, so that it represents an allocator with a store on the
 * network.
 */
class DelayedIdentityAllocatorTest extends IdentityAllocatorContract {
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private final DelayedIdentityAllocator identities = new DelayedIdentityAllocator(thread);

  @AfterEach
  void stop() {
    thread.shutdownNow();
  }

  @Override
  protected IdentityAllocator identities() {
    return identities;
  }

  @Override
  protected void settle() {
    CompletableFuture.runAsync(() -> {}, thread).join();
  }

  @Test
  void shouldNotifyListenersOfIdentitiesOfOtherNodes() {
    identities.addListener(recorder());
    final Identity remote = identities.addRemote(labels("app=web"));
    assertEquals(Optional.of(remote), identities.find(remote.id()));
    assertEquals(List.of(), identities.inUse());
    assertEquals(remote, await(identities.acquire(labels("app=web"))));
    identities.removeRemote(labels("app=web"));
    assertEquals(List.of(new IdentityInUse(remote, 1)), identities.inUse());
    assertTrue(await(identities.release(remote.id())));
    assertEquals(List.of("+256", "-256"), heard());
  }

  @Test
  void shouldKeepAnIdentityThatAnotherNodeHas() {
    identities.addListener(recorder());
    final Identity own = await(identities.acquire(labels("app=web")));
    identities.addRemote(labels("app=web"));
    assertTrue(await(identities.release(own.id())));
    assertEquals(Optional.of(own), identities.find(own.id()));
    assertEquals(List.of("+256"), heard());
    assertEquals(
        Refusal.Kind.NOT_FOUND,
        assertThrows(Refusal.class, () -> await(identities.release(own.id()))).kind());
    identities.removeRemote(labels("app=web"));
    assertEquals(List.of("+256", "-256"), heard());
  }

  @Test
  void shouldDoNothingUntilItIsRun() {
    final DelayedIdentityAllocator waiting = new DelayedIdentityAllocator();
    final CompletableFuture<Identity> acquired = waiting.acquire(labels("app=web"));
    assertFalse(acquired.isDone());
    assertEquals(1, waiting.pending());
    assertEquals(ReservedIdentity.identities(), waiting.list());
    waiting.runAll();
    assertEquals(256, acquired.join().id());
    waiting.fail(Refusal.unavailable("", "the store cannot be reached"));
    final CompletableFuture<Identity> refused = waiting.acquire(labels("app=web"));
    waiting.runAll();
    assertTrue(refused.isCompletedExceptionally());
    assertEquals(1, waiting.inUse().getFirst().refCount());
  }
}
