/**
 * What kernel tests share: packets that read like sentences, namespaces with traffic, and the
 * kernel-test condition.
 */
package agent.testkit;
