# A TLS echo server and a stdin/stdout TLS client over Ruby's openssl. The command line is described in
# src/programs/driver.rs.

require "openssl"
require "optparse"
require "socket"

SSL = OpenSSL::SSL
CURVES = { "x25519" => "X25519", "secp256r1" => "P-256", "secp384r1" => "P-384", "secp521r1" => "P-521" }.freeze
VERSIONS = { "1.2" => SSL::TLS1_2_VERSION, "1.3" => SSL::TLS1_3_VERSION }.freeze
WORDS = "0123\n"

def abilities
  resumption = "resume-1.2-ticket resume-1.2-id resume-1.3-stateless resume-1.3-stateful"
  puts "keys rsa2048 p256 p384 p521 ed25519"
  puts "groups #{CURVES.keys.join(" ")}"
  suites = SSL::SSLContext.method_defined?(:ciphersuites=) ? "suite1.2 suite1.3" : "suite1.2"
  puts "limits group #{suites}"
  puts "as-client #{resumption}"
  puts "as-server #{resumption}"
end

def serve(options)
  context = prepare(options)
  context.session_id_context = "interop"
  if options[:"client-ca"]
    context.verify_mode = SSL::VERIFY_PEER | SSL::VERIFY_FAIL_IF_NO_PEER_CERT
    context.ca_file = options[:"client-ca"]
  end
  listener = TCPServer.new("127.0.0.1", options[:port])
  loop do
    connection = SSL::SSLSocket.new(listener.accept, context)
    connection.sync_close = true
    begin
      connection.accept
      tell(connection)
      echo(connection)
    rescue SystemCallError, SSL::SSLError => e
      warn e.message
    ensure
      connection.close
    end
  end
end

def echo(connection)
  loop { connection.write(connection.readpartial(16_384)) }
rescue EOFError
  # The client has sent everything.
end

def connect(options)
  context = prepare(options)
  context.verify_mode = SSL::VERIFY_PEER
  context.ca_file = options[:ca]
  # In TLS 1.3 sessions arrive after the handshake.
  newest = nil
  context.session_cache_mode = SSL::SSLContext::SESSION_CACHE_CLIENT
  context.session_new_cb = ->((_, session)) { newest = session }
  (options[:connections] - 1).times do
    connection = connected(context, options, newest)
    connection.write(WORDS)
    $stdout.write(connection.read(WORDS.bytesize))
    $stdout.flush
    connection.close
  end
  carry(connected(context, options, newest))
end

def connected(context, options, session)
  connection = SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", options[:port]), context)
  connection.sync_close = true
  connection.hostname = options[:name] unless options[:name] == "127.0.0.1"
  connection.session = session if session
  connection.connect
  connection.post_connection_check(options[:name])
  tell(connection)
  connection
end

def carry(connection)
  finished = false
  writer = Thread.new do
    loop { connection.write($stdin.readpartial(16_384)) }
  rescue EOFError
    finished = true
  end
  reader = Thread.new do
    loop do
      $stdout.write(connection.readpartial(16_384))
      $stdout.flush
    end
  rescue EOFError
    abort "the server ended first" unless finished
  rescue IOError, SSL::SSLError
    raise unless finished
  end
  writer.join
  # The whole echo has arrived by now, because the harness ends the input only then.
  reader.kill
  connection.close
end

def tell(connection)
  warn "resumed #{connection.session_reused? ? "yes" : "no"}"
end

def prepare(options)
  context = SSL::SSLContext.new
  context.min_version = VERSIONS[options[:version]] || SSL::TLS1_2_VERSION
  context.max_version = VERSIONS[options[:version]]
  context.ecdh_curves = CURVES[options[:group]] if options[:group]
  if options[:suite]&.include?("_WITH_")
    context.ciphers = openssl_name(options[:suite])
  elsif options[:suite]
    context.ciphersuites = options[:suite]
  end
  if %w[resume-1.2-id resume-1.3-stateful].include?(options[:feature])
    context.options |= SSL::OP_NO_TICKET
  end
  if options[:cert]
    leaf, *chain = OpenSSL::X509::Certificate.load_file(options[:cert])
    context.add_certificate(leaf, OpenSSL::PKey.read(File.read(options[:key])), chain)
  end
  context
end

# TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256
def openssl_name(suite)
  name = suite.delete_prefix("TLS_").sub("_WITH_", "_").sub("AES_", "AES")
  name.sub("POLY1305_SHA256", "POLY1305").tr("_", "-")
end

options = { connections: 1 }
parser = OptionParser.new
parser.on("--port N", Integer)
parser.on("--connections N", Integer)
%w[name ca client-ca cert key version suite group feature].each { |name| parser.on("--#{name} VALUE") }
command, = parser.parse(ARGV, into: options)
begin
  case command
  when "abilities" then abilities
  when "serve" then serve(options)
  when "connect" then connect(options)
  else abort "say abilities, serve or connect"
  end
rescue SystemCallError, IOError, SSL::SSLError => e
  abort e.message
end
