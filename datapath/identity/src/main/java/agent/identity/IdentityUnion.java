package agent.identity;

import agent.identity.IdentityDirectory.IdentityListener;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/** Two directories with different numbers, read as one. */
record IdentityUnion(IdentityDirectory one, IdentityDirectory other) implements IdentityDirectory {
  @Override
  public Optional<Identity> find(int id) {
    return one.find(id).or(() -> other.find(id));
  }

  @Override
  public List<Identity> list() {
    final TreeSet<Identity> all = new TreeSet<>(one.list());
    all.addAll(other.list());
    return List.copyOf(all);
  }

  @Override
  public void addListener(IdentityListener listener) {
    one.addListener(listener);
    other.addListener(listener);
  }
}
