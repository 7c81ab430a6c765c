// SPDX-License-Identifier: Apache-2.0
// The names and shapes of well-known models, as their own state_dict spells them.
#include <gtest/gtest.h>

#include "trasmuon/classify.h"

namespace trasmuon {
namespace {

struct Expected {
  const char* name;
  Shape shape;
  Family family;
  const char* reason;
};

void expect(const std::vector<Expected>& model) {
  std::vector<NamedShape> parameters;
  for (const Expected& p : model) parameters.push_back({p.name, p.shape});
  const std::vector<Classified> table = classify(parameters);
  ASSERT_EQ(table.size(), model.size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    EXPECT_EQ(table[i].name, model[i].name);
    EXPECT_EQ(table[i].shape, model[i].shape);
    EXPECT_EQ(table[i].family == Family::matrix ? "matrix" : "adamw",
              std::string(model[i].family == Family::matrix ? "matrix" : "adamw"))
        << model[i].name;
    EXPECT_EQ(table[i].reason, model[i].reason) << model[i].name;
  }
}

constexpr Family matrix = Family::matrix, adamw = Family::adamw;

TEST(ClassifyModels, Gpt2OfTransformers) {
  expect({{"transformer.wte.weight", {50257, 768}, adamw, "embedding"},
          {"transformer.wpe.weight", {1024, 768}, adamw, "embedding"},
          {"transformer.h.0.ln_1.weight", {768}, adamw, "norm"},
          {"transformer.h.0.ln_1.bias", {768}, adamw, "bias"},
          {"transformer.h.0.attn.c_attn.weight", {768, 2304}, matrix, "hidden matrix"},
          {"transformer.h.0.attn.c_attn.bias", {2304}, adamw, "bias"},
          {"transformer.h.0.attn.c_proj.weight", {768, 768}, matrix, "hidden matrix"},
          {"transformer.h.0.mlp.c_fc.weight", {768, 3072}, matrix, "hidden matrix"},
          {"transformer.h.0.mlp.c_proj.weight", {3072, 768}, matrix, "hidden matrix"},
          {"transformer.ln_f.weight", {768}, adamw, "norm"},
          {"lm_head.weight", {50257, 768}, adamw, "output head"},
          {"score.weight", {2, 768}, adamw, "output head"}});
}

TEST(ClassifyModels, NanoGptCompiledAndDistributed) {
  expect({{"_orig_mod.transformer.wte.weight", {50304, 768}, adamw, "embedding"},
          {"_orig_mod.transformer.h.11.attn.c_attn.weight", {2304, 768}, matrix, "hidden matrix"},
          {"_orig_mod.lm_head.weight", {50304, 768}, adamw, "output head"},
          {"module.transformer.h.11.mlp.c_fc.weight", {3072, 768}, matrix, "hidden matrix"},
          {"module.transformer.ln_f.weight", {768}, adamw, "norm"}});
}

// A model that keeps every attention head as a module of its own.
TEST(ClassifyModels, AttentionHeadsAreHidden) {
  expect({{"token_embedding_table.weight", {65, 384}, adamw, "embedding"},
          {"position_embedding_table.weight", {256, 384}, adamw, "embedding"},
          {"blocks.0.sa.heads.0.key.weight", {64, 384}, matrix, "hidden matrix"},
          {"sa_heads.heads.0.key.weight", {64, 384}, matrix, "hidden matrix"},
          {"blocks.0.sa.proj.weight", {384, 384}, matrix, "hidden matrix"},
          {"blocks.0.ffwd.net.0.weight", {1536, 384}, matrix, "hidden matrix"},
          {"lm_head.weight", {65, 384}, adamw, "output head"}});
}

TEST(ClassifyModels, Qwen3) {
  expect({{"model.embed_tokens.weight", {151936, 1024}, adamw, "embedding"},
          {"model.layers.0.self_attn.q_proj.weight", {2048, 1024}, matrix, "hidden matrix"},
          {"model.layers.0.self_attn.o_proj.weight", {1024, 2048}, matrix, "hidden matrix"},
          {"model.layers.0.self_attn.q_norm.weight", {128}, adamw, "norm"},
          {"model.layers.0.mlp.gate_proj.weight", {3072, 1024}, matrix, "hidden matrix"},
          {"model.layers.0.mlp.down_proj.weight", {1024, 3072}, matrix, "hidden matrix"},
          {"model.layers.0.mlp.experts.gate_up_proj", {128, 1024, 1536}, matrix, "hidden matrices"},
          {"model.layers.0.input_layernorm.weight", {1024}, adamw, "norm"},
          {"model.layers.0.post_attention_layernorm.weight", {1024}, adamw, "norm"},
          {"model.norm.weight", {1024}, adamw, "norm"},
          {"lm_head.weight", {151936, 1024}, adamw, "output head"}});
}

TEST(ClassifyModels, LlamaAsPublished) {
  expect({{"tok_embeddings.weight", {32000, 4096}, adamw, "embedding"},
          {"layers.0.attention.wq.weight", {4096, 4096}, matrix, "hidden matrix"},
          {"layers.0.attention.wo.weight", {4096, 4096}, matrix, "hidden matrix"},
          {"layers.0.feed_forward.w1.weight", {11008, 4096}, matrix, "hidden matrix"},
          {"layers.0.attention_norm.weight", {4096}, adamw, "norm"},
          {"norm.weight", {4096}, adamw, "norm"},
          {"output.weight", {32000, 4096}, adamw, "output head"}});
}

TEST(ClassifyModels, MultiTokenPredictionOfDeepSeek) {
  expect({{"model.layers.61.embed_tokens.weight", {129280, 7168}, adamw, "embedding"},
          {"model.layers.61.eh_proj.weight", {7168, 14336}, matrix, "hidden matrix"},
          {"model.layers.61.enorm.weight", {7168}, adamw, "norm"},
          {"model.layers.61.shared_head.head.weight", {129280, 7168}, adamw, "output head"}});
}

TEST(ClassifyModels, Bert) {
  expect({{"bert.embeddings.word_embeddings.weight", {30522, 768}, adamw, "embedding"},
          {"bert.embeddings.position_embeddings.weight", {512, 768}, adamw, "embedding"},
          {"bert.embeddings.token_type_embeddings.weight", {2, 768}, adamw, "embedding"},
          {"bert.embeddings.LayerNorm.weight", {768}, adamw, "norm"},
          {"bert.encoder.layer.0.attention.self.query.weight", {768, 768}, matrix, "hidden matrix"},
          {"bert.encoder.layer.0.attention.output.dense.weight", {768, 768}, matrix, "hidden matrix"},
          {"bert.encoder.layer.0.attention.output.LayerNorm.weight", {768}, adamw, "norm"},
          {"bert.encoder.layer.0.intermediate.dense.weight", {3072, 768}, matrix, "hidden matrix"},
          {"bert.encoder.layer.0.output.dense.weight", {768, 3072}, matrix, "hidden matrix"},
          {"bert.pooler.dense.weight", {768, 768}, matrix, "hidden matrix"},
          {"cls.predictions.decoder.weight", {30522, 768}, adamw, "output head"},
          {"cls.seq_relationship.weight", {2, 768}, adamw, "output head"},
          {"classifier.weight", {2, 768}, adamw, "output head"}});
}

TEST(ClassifyModels, T5AndSwinRelativeBias) {
  expect({{"shared.weight", {32128, 512}, adamw, "embedding"},
          {"encoder.block.0.layer.0.SelfAttention.q.weight", {384, 512}, matrix, "hidden matrix"},
          {"decoder.block.0.layer.2.DenseReluDense.wi.weight", {2048, 512}, matrix, "hidden matrix"},
          {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {32, 6}, adamw, "bias"},
          {"layers.0.blocks.0.attn.relative_position_bias_table", {169, 3}, adamw, "bias"},
          {"layers.0.blocks.0.attn.pair_bias_proj.weight", {64, 64}, matrix, "hidden matrix"}});
}

TEST(ClassifyModels, VitOfTimm) {
  expect({{"cls_token", {1, 1, 768}, adamw, "embedding"},
          {"reg_token", {1, 4, 768}, adamw, "embedding"},
          {"pos_embed", {1, 197, 768}, adamw, "embedding"},
          {"patch_embed.proj.weight", {768, 3, 16, 16}, adamw, "embedding"},
          {"patch_embed.proj.bias", {768}, adamw, "bias"},
          {"blocks.0.norm1.weight", {768}, adamw, "norm"},
          {"blocks.0.attn.qkv.weight", {2304, 768}, matrix, "hidden matrix"},
          {"blocks.0.attn.q_norm.weight", {64}, adamw, "norm"},
          {"blocks.0.ls1.gamma", {768}, adamw, "vector"},
          {"blocks.0.mlp.fc1.weight", {3072, 768}, matrix, "hidden matrix"},
          {"fc_norm.weight", {768}, adamw, "norm"},
          {"head.weight", {1000, 768}, adamw, "output head"},
          {"head_dist.weight", {1000, 768}, adamw, "output head"}});
}

TEST(ClassifyModels, VitOfTorchvision) {
  expect({{"class_token", {1, 1, 768}, adamw, "embedding"},
          {"conv_proj.weight", {768, 3, 16, 16}, adamw, "input convolution"},
          {"encoder.pos_embedding", {1, 197, 768}, adamw, "embedding"},
          {"encoder.layers.encoder_layer_0.ln_1.weight", {768}, adamw, "norm"},
          {"encoder.layers.encoder_layer_0.self_attention.in_proj_weight", {2304, 768}, matrix, "hidden matrix"},
          {"encoder.layers.encoder_layer_0.self_attention.in_proj_bias", {2304}, adamw, "bias"},
          {"encoder.layers.encoder_layer_0.self_attention.out_proj.weight", {768, 768}, matrix, "hidden matrix"},
          {"encoder.layers.encoder_layer_0.mlp.0.weight", {3072, 768}, matrix, "hidden matrix"},
          {"encoder.ln.weight", {768}, adamw, "norm"},
          {"heads.head.weight", {1000, 768}, adamw, "output head"}});
}

TEST(ClassifyModels, ResNet) {
  expect({{"conv1.weight", {64, 3, 7, 7}, adamw, "input convolution"},
          {"bn1.weight", {64}, adamw, "norm"},
          {"layer1.0.conv1.weight", {64, 64, 1, 1}, matrix, "hidden convolution"},
          {"layer1.0.bn3.weight", {256}, adamw, "norm"},
          {"layer1.0.downsample.0.weight", {256, 64, 1, 1}, matrix, "hidden convolution"},
          {"layer1.0.downsample.1.weight", {256}, adamw, "vector"},
          {"layer1.0.se.fc.weight", {16, 256}, matrix, "hidden matrix"},
          {"fc.weight", {1000, 2048}, adamw, "output head"},
          {"fc.bias", {1000}, adamw, "bias"}});
}

TEST(ClassifyModels, OtherConvolutions) {
  expect({{"features.0.weight", {64, 3, 3, 3}, adamw, "input convolution"},
          {"features.2.weight", {64, 64, 3, 3}, matrix, "hidden convolution"},
          {"features.1.conv.0.0.weight", {32, 1, 3, 3}, matrix, "hidden convolution"},
          {"classifier.6.weight", {1000, 4096}, adamw, "output head"},
          {"conv_in.weight", {320, 4, 3, 3}, adamw, "input convolution"},
          {"down_blocks.0.resnets.0.norm1.linear.weight", {640, 1280}, matrix, "hidden matrix"},
          {"input_blocks.1.0.emb_layers.1.weight", {320, 1280}, matrix, "hidden matrix"},
          {"backbone.layers.0.mixer.conv1d.weight", {1536, 1, 4}, adamw, "side of 1"},
          {"conv_out.weight", {4, 320, 3, 3}, adamw, "output head"}});
}

TEST(ClassifyModels, FlaxNames) {
  expect({{"params/wte/embedding", {50257, 768}, adamw, "embedding"},
          {"params/h_0/attn/kernel", {768, 2304}, matrix, "hidden matrix"},
          {"params/LayerNorm_0/scale", {768}, adamw, "norm"},
          {"params/lm_head/kernel", {768, 50257}, adamw, "output head"}});
}

}  // namespace
}  // namespace trasmuon
